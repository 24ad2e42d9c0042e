-- What was folded into a job: the last twenty further changes, eight bytes each. Null where nothing was, which costs no byte. Older
-- processes run on this schema: what they fold is counted, and not listed.
alter table headgate.jobs add column twins bigint[];
alter table headgate.finished_jobs add column twins bigint[];
alter table headgate.dead_letter_jobs add column twins bigint[];

-- Kind and milliseconds since 1970 in one number, as model::job::Twin reads it: the kinds in the order of EventType::ALL, 0 for any other.
create function headgate.twin(kind text, at timestamptz) returns bigint
language sql stable
as $$
    select (extract(epoch from at) * 1000)::bigint * 16 + coalesce(array_position(array[
        'record.created', 'record.updated', 'record.replaced', 'record.deleted', 'attribute.update', 'attribute.delta_update',
        'metadata.update', 'metadata.single_update'
    ], kind), 0)
$$;

-- Those of the change that waits behind a job: the last twenty, null when there are none.
create function headgate.twins_of(successor jsonb) returns bigint[]
language sql immutable
as $$
    select t.twins[cardinality(t.twins) - 19:]
    from (
        select array_agg(e.twin::bigint order by e.n) as twins
        from jsonb_array_elements_text(case when jsonb_typeof(successor -> 'twins') = 'array' then successor -> 'twins' end)
            with ordinality e (twin, n)
    ) t
$$;
