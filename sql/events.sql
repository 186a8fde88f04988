-- The newest event that this snapshot shows; the transaction before which all had ended at it; and the next that will
-- begin. A snapshot's own xmax is not that: it comes after the last that has *ended*, and others beyond it may run.
-- age() counts from the next transaction, as it is after the snapshot was taken. See docs/events.md.
-- name: snapshot
select coalesce((select max(seq) from events), floor) as newest, floor,
  pg_snapshot_xmin(snapshot)::text as xmin,
  (pg_snapshot_xmax(snapshot)::text::bigint + age(pg_snapshot_xmax(snapshot)::xid))::text as next
from events_floor, pg_current_snapshot() as snapshot;

-- The last number that was ever taken: a cursor beyond it was given by another database.
-- name: last_number
select last_value as last from events_seq_seq;

-- Of the next $3 events those that are asked for, at most $4 of them, and no more once they have come to $5 bytes.
-- `until` is the last event looked at, `matching` how many there were before the bytes were counted; a row without a
-- seq when there are none. $6 are the types to read, null: all; $7 those of which only the records of user $8.
-- name: read ($1 after, $2 horizon, $3 looked at, $4 events, $5 bytes, $6 types, $7 own types, $8 owner)
with looked_at as materialized (
  select max(seq) as until
  from (select seq from events where seq > $1 and seq <= $2 order by seq limit $3) as next
), matching as materialized (
  select events.*
  from looked_at, events
  where seq > $1 and seq <= until
    and ($6::text[] is null or type = any ($6::text[]) or (type = any ($7::text[]) and owner = $8::uuid))
  order by seq
  limit $4
), measured as (
  select *, count(*) over () as matching,
    coalesce(sum(octet_length(data)) over (order by seq rows between unbounded preceding and 1 preceding), 0) as before
  from matching
)
select floor, until, matching, seq, owner, record, time, version, type, data
from events_floor
cross join looked_at
left join measured on before < $5
order by seq;

-- Deletes the oldest of those that are too old or too many, five thousand at a time, and says so. One process does it at
-- a time, and never beyond the horizon that it knows.
-- name: prune ($1 seconds to keep, $2 most events, $3 horizon)
with kept as materialized (
  select floor from events_floor for update skip locked
), oldest as materialized (
  select seq, time from kept, events where seq > floor and seq <= $3 order by seq limit 5000
), past as materialized (
  select max(seq) as seq from oldest
  where time < now() - make_interval(secs => $1::double precision) or seq <= (select max(seq) from events) - $2
), pruned as (
  delete from events using kept, past where events.seq > kept.floor and events.seq <= past.seq
)
update events_floor set floor = past.seq from past where past.seq is not null
returning 1 as pruned;
