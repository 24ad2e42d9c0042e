-- Each source is read along its primary key until the page is full. The other conditions stand outside a subquery with `limit null`, which keeps the
-- planner from pulling it up: a generic plan, kept for all ranges of time, assumes that few rows match, and would sort all there are.
with flips as (
    select f.id, f.at, 'flip' as source, 'breaker.' || f.to_state as action, f.app_id, f.integration_id, f.actor, f.reason,
        null::text as object_kind, null::text as object_id, null::jsonb as before, null::jsonb as after, null::text as program,
        null::text as version
    from (
        select * from headgate.breaker_flips f
        where f.id < coalesce($1::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') and f.id >= coalesce($4::uuid, '00000000-0000-0000-0000-000000000000')
            and f.id < coalesce($5::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
        order by f.id desc
        limit (select null::bigint)
    ) f
    where ($3::uuid is null or f.app_id = $3)
        and ($6::timestamptz is null or f.at >= $6) and ($7::timestamptz is null or f.at <= $7)
    order by f.id desc
    limit $2
), actions as (
    select l.id, l.at, 'action', l.action, l.app_id, null::uuid, l.actor_name, l.after ->> 'reason', l.object_kind, l.object_id, l.before,
        l.after, null, null
    from (
        (
            select l.* from (
                select * from headgate.audit_log l
                where $3::uuid is null
                    and (
                        l.object_kind in ('app', 'integration', 'worker', 'operation', 'resync', 'rate_limit', 'failure')
                        or l.action like '%.bulk\_%'
                    ) and l.action not in ('integration.breaker', 'integration.test')
                    and l.id < coalesce($1::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
                    and l.id >= coalesce($4::uuid, '00000000-0000-0000-0000-000000000000')
                    and l.id < coalesce($5::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
                order by l.id desc
                limit (select null::bigint)
            ) l
            where ($6::timestamptz is null or l.at >= $6) and ($7::timestamptz is null or l.at <= $7)
            order by l.id desc
            limit $2
        )
        union all
        -- Lines of one app by their own index, since they may be few among all.
        (
            select l.* from (
                select * from headgate.audit_log l
                where $3::uuid is not null and l.app_id >= $3 and l.app_id <= $3
                    and l.id < coalesce($1::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
                    and l.id >= coalesce($4::uuid, '00000000-0000-0000-0000-000000000000')
                    and l.id < coalesce($5::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
                order by l.app_id desc, l.id desc
                limit (select null::bigint)
            ) l
            where (
                    l.object_kind in ('app', 'integration', 'worker', 'operation', 'resync', 'rate_limit', 'failure')
                    or l.action like '%.bulk\_%'
                ) and l.action not in ('integration.breaker', 'integration.test')
                and ($6::timestamptz is null or l.at >= $6) and ($7::timestamptz is null or l.at <= $7)
            order by l.app_id desc, l.id desc
            limit $2
        )
    ) l
    order by l.id desc
    limit $2
), own as (
    select s.id, s.at, 'own', case s.kind when 'version' then 'deploy' when 'pause' then 'integration.pause'
        when 'alert' then 'view.alert' when 'calm' then 'view.calm' else 'start' end,
        s.app_id, s.integration_id, null, s.reason, null, null, null::jsonb, null::jsonb, coalesce(s.name, s.program), s.version
    from (
        select * from headgate.system_events s
        where s.id < coalesce($1::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') and s.id >= coalesce($4::uuid, '00000000-0000-0000-0000-000000000000')
            and s.id < coalesce($5::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
        order by s.id desc
        limit (select null::bigint)
    ) s
    where ($3::uuid is null or s.app_id = $3)
        and ($6::timestamptz is null or s.at >= $6) and ($7::timestamptz is null or s.at <= $7)
    order by s.id desc
    limit $2
), newest as materialized (
    select * from (select * from flips union all select * from actions union all select * from own) together
    order by id desc
    limit $2
), about as (
    -- The integration that a line of the audit log is about; it may have been deleted.
    select n.*, coalesce(n.integration_id, case n.object_kind
        when 'integration' then n.object_id::uuid
        when 'resync' then (select r.integration_id from headgate.resyncs r where r.id = n.object_id::uuid)
    end) as about_id
    from newest n
)
select a.id as "id!", a.at as "at!", a.source as "source!", a.action as "action!", a.app_id as "app_id: AppId",
    i.id as "integration_id?: IntegrationId",
    coalesce(i.name, a.before ->> 'name', a.after ->> 'name', p.name, a.program) as name, a.actor, a.reason,
    case when a.action like '%.bulk\_%' then coalesce((a.after ->> 'changed')::bigint, (a.after ->> 'matched')::bigint) end as count,
    case when jsonb_typeof(a.after) = 'object' and a.action like '%.update' then array(select jsonb_object_keys(a.after)) else '{}' end
        as "fields!",
    a.version
from about a
left join headgate.integrations i on i.id = a.about_id
left join headgate.apps p on a.object_kind = 'app' and p.id = a.app_id
order by a.id desc
