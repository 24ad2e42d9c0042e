-- A row of `jobs` that was never folded into has no `previous_rank`: the accepting statement reads from its own rows which of them are new,
-- instead of joining them to what came in. Older processes run on this schema: they write a rank, and read it of rows that were
-- folded into alone.
alter table headgate.jobs alter column previous_rank drop not null, alter column previous_rank drop default;
