-- Calling off a job that is being processed is a request: the row keeps its lease, its deduplication id and its key until whoever
-- processes it has let go of it, so that the next job of that record or key cannot begin beside it. Older workers may still run: they know
-- nothing of the request, end the job as it ends by itself, and a mark they leave behind is of no effect, because it names the lease.

alter table headgate.jobs
    -- When it was asked for; shown to people.
    add column cancel_requested_at timestamptz,
    -- The lease (`assignment_id`) that is to be let go of. The mark is good for this one alone: another attempt, or the successor that
    -- took the row over, is not meant. Compared, never cleared, so that no statement of a plain end has to know of it.
    add column cancel_requested_of uuid;
