-- The engine under any backlog. Older workers run on this schema too: new columns have defaults, and what they call stays.

-- The breaker's word on a lane: no more jobs than this at once. Null: whatever max_concurrency allows; 0: none (the breaker is open).
alter table headgate.lanes add column breaker_cap int;
alter table headgate.lanes add constraint lanes_breaker_cap_range check (breaker_cap >= 0);

-- How far the attempt under way is, as its handler says: {"done", "total", "note", "at"}. Gone with the attempt.
alter table headgate.jobs add column progress jsonb;
