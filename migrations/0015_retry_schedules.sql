-- An integration may have waits of its own between attempts. Older workers do not read the column: they go by the schedule of their process.

alter table headgate.integrations
    -- null: the schedule of the process; otherwise written as the setting is.
    add column retry_schedule text,
    add constraint integrations_retry_schedule_length check (char_length(retry_schedule) between 1 and 2000);
