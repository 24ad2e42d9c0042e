-- Deletes a chunk of deltas and adds them in one statement, so that readers see each once. Rows are written in the order of their keys.
with taken as materialized (
    delete from headgate.failure_deltas
    where ctid = any (array(
        select ctid from headgate.failure_deltas
        where (select headgate.is_leader($1, $2))
        limit $3 for update skip locked
    ))
    returning fingerprint, integration_id, at, failed, waiting, dead, error_kind, error_message, response_status
), summed as materialized (
    select t.fingerprint, t.integration_id, sum(t.failed)::bigint as failed, sum(t.waiting)::bigint as waiting, sum(t.dead)::bigint as dead,
        min(t.at) as first_at,
        -- A delta that only subtracts is no failure: it leaves `last_at` of an existing row as it is.
        coalesce(max(t.at) filter (where t.failed > 0 or t.dead > 0), to_timestamp(0)) as last_at,
        -- The error of an attempt is preferred to that of a dead letter.
        coalesce((array_agg(t.error_kind order by t.failed > 0 desc, t.at desc) filter (where t.error_kind is not null))[1], 'retryable') as error_kind,
        coalesce((array_agg(t.error_message order by t.failed > 0 desc, t.at desc) filter (where t.error_message is not null))[1], '') as error_message,
        max(t.response_status) as response_status
    from taken t
    group by t.fingerprint, t.integration_id
), counts as (
    insert into headgate.failure_counts as c (fingerprint, integration_id, waiting, dead, failed, first_at, last_at, error_kind, error_message,
        response_status)
    select fingerprint, integration_id, waiting, dead, failed, first_at, last_at, error_kind, error_message, response_status
    from summed
    order by fingerprint
    on conflict (fingerprint) do update
    set waiting = c.waiting + excluded.waiting, dead = c.dead + excluded.dead, failed = c.failed + excluded.failed,
        last_at = greatest(c.last_at, excluded.last_at),
        error_kind = case when excluded.failed > 0 then excluded.error_kind else c.error_kind end,
        error_message = case when excluded.failed > 0 then excluded.error_message else c.error_message end
), groups as (
    insert into headgate.failure_groups as g (cause, waiting, dead, failed, first_at, last_at, error_kind, error_message, response_status)
    select left(fingerprint, 16), sum(waiting), sum(dead), sum(failed), min(first_at), max(last_at),
        (array_agg(error_kind order by failed > 0 desc, last_at desc))[1], (array_agg(error_message order by failed > 0 desc, last_at desc))[1],
        max(response_status)
    from summed
    group by 1
    order by 1
    on conflict (cause) do update
    set waiting = g.waiting + excluded.waiting, dead = g.dead + excluded.dead, failed = g.failed + excluded.failed,
        last_at = greatest(g.last_at, excluded.last_at),
        error_kind = case when excluded.failed > 0 then excluded.error_kind else g.error_kind end,
        error_message = case when excluded.failed > 0 then excluded.error_message else g.error_message end
), trend as (
    insert into headgate.failure_trend as t (key, bucket_at, failed)
    select k.key, date_bin('15 minutes', d.at, to_timestamp(0)), sum(d.failed)
    from taken d
    cross join lateral (values (d.fingerprint), (left(d.fingerprint, 16))) k (key)
    where d.failed > 0
    group by 1, 2
    order by 1, 2
    on conflict (key, bucket_at) do update set failed = t.failed + excluded.failed
)
select count(*) as "folded!" from taken
