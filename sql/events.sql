-- Bounds of events are parameters or subqueries with one value, never joins: only those are conditions of the index. From a
-- join PostgreSQL would read all events that are stored (test/events/statement-cost.test.ts). An upper bound beside the lower
-- one is outside of the limit: a plan that was made for a small table would otherwise sort.

-- The newest event that this snapshot shows; the transaction before which all had ended; and the next transaction. The
-- snapshot's xmax is not that: it follows the last transaction that has ended, and later ones may run. age() is relative
-- to the next transaction after the snapshot was taken. src/events/commit-horizon.ts uses them. `is_noted`: whether the newest
-- epoch is of the present timeline; a session that was opened before the promotion of its server has not noted it.
-- name: snapshot
select coalesce((select max(seq) from events), floor) as newest, floor,
  pg_snapshot_xmin(snapshot)::text as xmin,
  (pg_snapshot_xmax(snapshot)::text::bigint + age(pg_snapshot_xmax(snapshot)::xid))::text as next,
  epoch.number as epoch,
  case
    when pg_is_in_recovery() or history is null then true
    else right(history, 8) = left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
  end as is_noted,
  (case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end
    - '0/0'::pg_lsn)::float8 as written
from events_floor, pg_current_snapshot() as snapshot,
  (select number, history from feed_epochs order by number desc limit 1) as epoch;

-- name: epochs
select name, first_after from feed_epochs order by number;

-- The last number that was ever drawn: a cursor beyond it belongs to another database.
-- name: last_number
select last_value as last from events_seq_seq;

-- The matching ones of the next $3 events, at most $4 of them, and no further one beyond $5 bytes. `until` is the last event
-- that was examined, as far as the page does not tell it; `matching` the number before the limit in bytes; one row without a
-- seq if there are none. $6 are the types to read, null: all; $7 the types of which only records of user $8 match.
-- name: read ($1 after, $2 horizon, $3 looked at, $4 events, $5 bytes, $6 types, $7 own types, $8 owner)
with matching as materialized (
  select *
  from (
    select * from events
    where seq > greatest($1::bigint, (select floor from events_floor))
    order by seq limit $3
  ) as next
  where seq <= $2
    and ($6::text[] is null or type = any ($6::text[]) or (type = any ($7::text[]) and owner = $8::uuid))
  order by seq
  limit $4
), looked_at as materialized (
  select case
    when $6::text[] is null or (select count(*) from matching) >= $4 then (select max(seq) from matching)
    else (
      select max(seq)
      from (
        select seq from events
        where seq > greatest($1::bigint, (select floor from events_floor)) and seq <= $2
        order by seq limit $3
      ) as next
    )
  end as until
), measured as (
  select *, count(*) over () as matching,
    coalesce(sum(coalesce(octet_length(data), 0) + coalesce(pg_column_size(former), 0)) over (
      order by seq rows between unbounded preceding and 1 preceding
    ), 0) as before
  from matching
)
select floor, until, matching, seq, owner, record, time, version, type, data, former::text as former, actor
from events_floor
cross join looked_at
left join measured on before < $5
order by seq;

-- The bytes of the next group of events: up to five thousand, and no further one beyond $2 bytes. Events that do not fill a
-- group are measured later. An event has 128 bytes besides its documents and the former columns.
-- name: measure ($1 horizon, $2 bytes)
with retained as materialized (
  select floor from events_floor for update skip locked
), start as materialized (
  select greatest(floor, coalesce((select max(until) from event_bytes), 0)) as after from retained
), next as materialized (
  select seq, own
  from (
    select seq,
      128 + coalesce(octet_length(data), 0) + coalesce(octet_length(previous), 0) + coalesce(pg_column_size(former), 0) as own
    from events
    where seq > (select after from start)
    order by seq limit 5000
  ) as next
  where seq <= $1
), added as materialized (
  select seq, own, sum(own) over (order by seq) as bytes from next
), block as materialized (
  select max(seq) as until, max(bytes) as bytes, count(*) as events from added where bytes - own < $2::bigint
)
insert into event_bytes (until, bytes)
select until, bytes from block where bytes >= $2::bigint or events = 5000
returning 1 as measured;

-- The position up to which events must be deleted so that the rest has at most this many bytes; null: none.
-- name: byte_floor ($1 bytes)
select max(until) as until
from (select until, sum(bytes) over (order by until desc) as bytes from event_bytes) as rest
where bytes > $1::bigint;

-- name: forget_measured
delete from event_bytes where until <= (select floor from events_floor);

-- The position up to which events have become deliveries; no row if no enabled webhook waits for events.
-- name: fanned_out
select position from webhook_cursor where exists (select from webhooks where enabled);

-- Moves the floor past the oldest events that are too old or too many, five thousand at a time, and returns whether there
-- were any. One process does this at a time, and never beyond the horizon that it knows.
-- name: expire ($1 retention in seconds, $2 max events, $3 horizon, $4 up to where there are too many bytes)
with retained as materialized (
  select floor from events_floor for update skip locked
), oldest as materialized (
  select seq, time
  from (select seq, time from events where seq > (select floor from retained) order by seq limit 5000) as next
  where seq <= $3
), past as materialized (
  select max(seq) as seq from oldest
  where time < now() - make_interval(secs => $1::double precision) or seq <= (select max(seq) from events) - $2
    or seq <= $4::bigint
)
update events_floor set floor = past.seq from past where past.seq is not null
returning 1 as expired;

-- Moves the floor past events that have not become deliveries, and adds their number to each enabled webhook that wanted
-- them. Does nothing while they are becoming deliveries, or if they have since the position was read.
-- name: drop ($1 up to, $2 position, $3 the same as a number)
with place as materialized (
  select position from webhook_cursor for update skip locked
), retained as materialized (
  select floor from events_floor for update skip locked
), oldest as materialized (
  select seq, type
  from (
    select seq, type
    from events
    where seq > (select floor from place, retained where position is not distinct from $2::text)
    order by seq limit 5000
  ) as next
  where seq <= $1::bigint
), past as materialized (
  select max(seq) as seq, count(*) filter (where seq > $3::bigint) as events from oldest
), lost as materialized (
  select webhooks.id, count(*) as events
  from oldest
  join webhooks on enabled and types && array['*', type, split_part(type, '.', 1) || '.*']
  where seq > $3::bigint
  group by webhooks.id
), counted as (
  update webhooks set dropped_events = dropped_events + lost.events from lost where webhooks.id = lost.id
)
update events_floor set floor = past.seq from past where past.seq is not null
returning past.events::integer as dropped;

-- New events go to another segment once the current one has half of what is retained, if one is empty. So there are normally
-- at most half as many expired events as retained ones, and as many if a few retained ones keep a segment.
-- name: change_segment ($1 retention in seconds, $2 max events, $3 max bytes)
update event_segment
set current = next, since = now(), after = newest.seq
from next_event_segment() as next, (select max(seq) as seq from events) as newest
where next is not null and newest.seq > after
  and (
    since < now() - make_interval(secs => $1::double precision / 2)
    or newest.seq - after > $2::bigint / 2
    or (select sum(bytes) from event_bytes where until > after) > $3::bigint / 2
  )
returning current;

-- name: truncate_expired
select true as truncated where truncate_expired_events();

-- name: create_ticket ($1 SHA-256 of the ticket in base64, $2 principal as JSON, $3 seconds, $4 maximum, $5 caller or null, $6 maximum of a caller)
-- `expires` is null if there are too many: of the caller `own`, or of all callers.
with own as (
  select count(*)::integer as tickets from event_tickets where caller = $5 and expires_at > now()
), created as (
  insert into event_tickets (hash, principal, expires_at, caller)
  select decode($1, 'base64'), $2, now() + make_interval(secs => $3::double precision), $5
  from own
  where own.tickets < $6::integer
    and (select count(*) from event_tickets where expires_at > now()) < $4::integer
  returning (extract(epoch from expires_at) * 1000)::float8 as expires
)
select own.tickets as own, (select expires from created) as expires from own;

-- name: find_ticket ($1 SHA-256 of the ticket in base64)
select principal from event_tickets where hash = decode($1, 'base64') and expires_at > now();

-- Of concurrent requests with one ticket, one deletes it.
-- name: use_ticket ($1 SHA-256 of the ticket in base64)
delete from event_tickets where hash = decode($1, 'base64') and expires_at > now()
returning true as used;

-- name: prune_tickets
delete from event_tickets
where hash in (select hash from event_tickets where expires_at < now() limit 1000)
returning 1 as deleted;

-- name: prune_history ($1 retention in seconds)
delete from plinth_history
where (collection, record, seq) in (
  select collection, record, seq from plinth_history
  where time < now() - make_interval(secs => $1::double precision) limit 1000
)
returning 1 as pruned;

-- The changes of one record among the $4 events up to $3, and once these have no further one among the expired, the newest first, with
-- the documents around them, as far as these have up to $6 bytes. Each row has the first event that was examined; one row without a seq
-- if there is no change.
-- name: history_page ($1 record, $2 prefix of types, $3 position, $4 looked at, $5 events, $6 bytes)
with looked_at as materialized (
  select seq, record, type
  from (
    select seq, record, type from events
    where seq <= $3::bigint
    order by seq desc limit $4
  ) as newest
  where seq > (select floor from events_floor)
), part as materialized (
  select min(seq) as first,
    not exists (
      select from events
      where seq < (select min(seq) from looked_at) and seq > (select floor from events_floor)
    ) as is_last
  from looked_at
), changes as materialized (
  select seq from looked_at
  where record = $1::uuid and starts_with(type, $2)
  order by seq desc limit $5
), expired as (
  select *, collection || '.' || kind as type from plinth_history
  where collection = left($2, -1) and record = $1::uuid and seq <= $3::bigint and (select is_last from part)
  order by seq desc limit $5
), measured as (
  select *, sum(coalesce(octet_length(data), 0) + coalesce(octet_length(previous), 0)) over (order by seq desc) as bytes
  from (
    select seq, time, version, type, owner, actor, former, data, previous
    from events
    where seq = any (array(select seq from changes))
    union all
    select seq, time, version, type, owner, actor, former, data, previous from expired
    order by seq desc limit $5
  ) as known
)
select is_last, first, seq, time, version, type, owner, actor, former::text as former,
  case when bytes <= $6::bigint then data end as data, case when bytes <= $6::bigint then previous end as previous,
  bytes <= $6::bigint as is_whole
from part
left join measured on true
order by seq desc;
