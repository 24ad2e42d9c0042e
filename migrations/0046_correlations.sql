-- What else a job answers for than the call that made it: the correlation ids of the changes that were folded into it, and the trace that the last
-- of them came with. Null where there is nothing of the kind, which costs no byte. Older processes run on this schema: what they fold is told
-- by its first correlation id alone.

-- All different ones in the order in which they came last, the last twenty; null while there is one alone, `correlation_id`.
alter table headgate.jobs add column correlation_ids text[], add column earlier_correlations int, add column traceparent text;
alter table headgate.finished_jobs add column correlation_ids text[], add column earlier_correlations int, add column traceparent text;
alter table headgate.dead_letter_jobs add column correlation_ids text[], add column earlier_correlations int, add column traceparent text;

create index jobs_by_correlations on headgate.jobs using gin (correlation_ids) where correlation_ids is not null;
create index finished_jobs_by_correlations on headgate.finished_jobs using gin (correlation_ids) where correlation_ids is not null;
create index dead_letter_jobs_by_correlations on headgate.dead_letter_jobs using gin (correlation_ids) where correlation_ids is not null;

-- Those of the change that waits behind a job; null when it has one alone.
create function headgate.correlation_ids_of(successor jsonb) returns text[]
language sql immutable
as $$
    select array_agg(e.id order by e.n)
    from jsonb_array_elements_text(
        case when jsonb_typeof(successor -> 'correlation_ids') = 'array' then successor -> 'correlation_ids' end
    ) with ordinality e (id, n)
$$;

-- Those of a job (`known`, or `first` alone) after a fold that brings others (`added`, or `added_id` alone): each once, the newest last.
create function headgate.joined_correlations(known text[], first text, added text[], added_id text) returns text[]
language plpgsql immutable
as $$
begin
    if added is null and added_id = coalesce(known[cardinality(known)], first) then
        return known;
    end if;
    added := coalesce(added, array[added_id]);
    return array(
        select k.id from unnest(coalesce(known, array[first])) with ordinality k (id, n) where k.id <> all (added) order by k.n
    ) || added;
end
$$;
