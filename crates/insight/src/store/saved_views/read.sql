select v.id as "id: SavedViewId", v.name, v.query, v.is_shared, coalesce(v.owner_id = $1, false) as "is_own!", u.name as "owner_name?",
    p.view_id is not null as "is_pinned!", v.alert_at, c.n as "n?", c.is_more as "is_more?", c.counted_at as "counted_at?",
    c.is_too_wide as "is_too_wide?", c.alerting_since as "alerting_since?", v.created_at, v.updated_at
from headgate.saved_views v
left join headgate.users u on u.id = v.owner_id
left join headgate.saved_view_pins p on p.view_id = v.id and p.user_id = $1
left join headgate.saved_view_counts c on c.view_id = v.id
where (v.is_shared or v.owner_id = $1)
    and ($2::uuid is null or v.id = $2)
    and (not $3 or c.alerting_since is not null)
order by p.view_id is null, lower(v.name), v.id
