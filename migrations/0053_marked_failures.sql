-- Groups of failures that were put aside or said to be mended are few among many that were not, and are listed by how many jobs they have: before, all
-- groups were read for them. Processes of the version before run on as they did.
create index failure_groups_snoozed on headgate.failure_groups ((waiting + dead), cause) where snoozed_until is not null;
create index failure_groups_fixed on headgate.failure_groups ((waiting + dead), cause) where fixed_at is not null;
