-- name: create_webhook ($1 id, $2 url, $3 types as a JSON array, $4 description, $5 enabled, $6 secret, $7 maximum)
insert into webhooks (id, url, types, description, enabled, secret)
select $1, $2, array(select json_array_elements_text($3::text::json)), $4, $5::text::boolean, $6
where (select count(*) from webhooks) < $7
returning :webhook;

-- name: list_webhooks ($1 id that the ids are below, $2 how many)
select :webhook
from webhooks
where id < $1
order by id desc
limit $2;

-- name: get_webhook ($1 id)
select :webhook
from webhooks
where id = $1;

-- name: lock_webhook ($1 id)
select :webhook
from webhooks
where id = $1
for no key update;

-- name: change_webhook ($1 id, $2 url, $3 types as a JSON array, $4 description, $5 enabled)
update webhooks
set url = $2, types = array(select json_array_elements_text($3::text::json)), description = $4, enabled = $5::text::boolean,
  disabled_reason = case when $5::text::boolean then null else disabled_reason end, updated_at = now(), version = version + 1
where id = $1
returning :webhook;

-- name: delete_webhook ($1 id)
delete from webhooks where id = $1;

-- name: rotate_secret ($1 id, $2 new secret, $3 seconds for which the present one stays valid)
update webhooks
set previous_secret = secret, previous_until = now() + make_interval(secs => $3::double precision), secret = $2,
  updated_at = now(), version = version + 1
where id = $1
returning :webhook;

-- A process that finds the position locked does nothing: another one creates the deliveries.
-- name: lock_cursor
select position from webhook_cursor for update skip locked;

-- name: move_cursor ($1 position)
update webhook_cursor set position = $1;

-- Inserting and ending deliveries both lock the webhook's row, so that a delivery that is inserted as waiting cannot miss
-- the end of the one that it waits for.
-- name: lock_enabled
select id::text, array_to_json(types)::text as types
from webhooks
where enabled
order by id
for no key update;

-- name: lock_webhooks ($1 ids)
select id from webhooks where id = any ($1::uuid[]) order by id for no key update;

-- A scalar subquery looks for an earlier delivery: for `exists`, PostgreSQL may read all pending ones.
-- name: insert_deliveries ($1 JSON array of {id, type, recordKey, body}, $2 JSON array of {webhook, event}: which of $1 from 0)
with event as materialized (
  select *
  from rows from (json_to_recordset($1::text::json) as (id text, type text, "recordKey" text, body text))
    with ordinality as event (id, type, record_key, body, place)
), wanted as materialized (
  select * from json_to_recordset($2::text::json) as wanted (webhook uuid, event bigint)
), present as materialized (
  select current as segment from delivery_segment
), bodies as (
  insert into delivery_bodies (segment, event_id, body)
  select (select segment from present), id, body from event where place - 1 in (select wanted.event from wanted)
  on conflict do nothing
)
insert into deliveries (segment, webhook_id, event_id, type, record_key, next_at)
select (select segment from present), new.webhook, new.id, new.type, new.record_key,
  case when new.nth > 1 or (
    select true from deliveries as earlier
    where earlier.webhook_id = new.webhook and earlier.record_key = new.record_key and earlier.status = 'pending'
    limit 1
  ) then null else now() end
from (
  select wanted.webhook, event.id, event.type, event.record_key, event.place,
    row_number() over (partition by wanted.webhook, event.record_key order by event.place) as nth
  from event
  join wanted on wanted.event = event.place - 1
) as new
order by new.place
returning id::text;

-- Leases deliveries that are due: of each webhook up to its limit in flight, of a failing one a single delivery. Webhooks
-- alternate, and failing ones together get at most half of the capacity. A delivery whose lease has ended is due again. The
-- update has no condition but the ids, so that PostgreSQL does not read all deliveries of a webhook.
-- The body is looked up in all segments: PostgreSQL 18.4 has crashed while it chose partitions at run time beside concurrent
-- updates, and no other statement that locks rows does so.
-- name: claim ($1 owner, $2 lease in seconds, $3 maximum per webhook, $4 maximum in all)
with due as (
  select found.id, found.nth, failing, url, secret,
    case when previous_until > now() then previous_secret end as previous_secret
  from webhooks
  cross join lateral (
    select picked.id, row_number() over (order by picked.next_at, picked.id) as nth
    from (
      select id, next_at
      from deliveries
      where webhook_id = webhooks.id and status = 'pending' and next_at <= now()
      order by next_at, id
      limit least($4::bigint, greatest(0, case when failing then 1 else $3::bigint end - (
        select count(*) from deliveries as leased
        where leased.webhook_id = webhooks.id and leased.owner is not null and leased.next_at > now()
      )))
      for no key update skip locked
    ) as picked
  ) as found
  where webhooks.enabled
), chosen as materialized (
  select id, url, secret, previous_secret
  from (select *, row_number() over (partition by failing order by nth, id) as place from due) as placed
  where not failing or place <= greatest(1, $4::bigint / 2)
  order by nth, failing, id
  limit $4
)
update deliveries
set owner = $1, next_at = now() + make_interval(secs => $2::double precision), tries = tries + 1, tried_at = now()
from chosen
where deliveries.id = any (array(select id from chosen)) and deliveries.id = chosen.id
returning deliveries.id::text, deliveries.webhook_id::text, deliveries.event_id, coalesce(deliveries.body, (
    select delivery_bodies.body
    from delivery_bodies
    where delivery_bodies.event_id = deliveries.event_id and delivery_bodies.segment + 0 = deliveries.segment
  )) as body, deliveries.tries,
  extract(epoch from now() - deliveries.due_at)::float8 as age, chosen.url, chosen.secret, chosen.previous_secret;

-- Stores results, and makes the next delivery of each record whose delivery has ended due. A result is ignored if another
-- process has the lease. `outcome`: delivered, dead, retry, or back (not attempted). The conditions fit no partial index, so
-- that PostgreSQL finds the deliveries by their ids instead of reading all that are pending or were leased.
-- name: finish ($1 owner, $2 JSON array of {id, tries, outcome, delay in seconds, status, error, body, disable})
with result as materialized (
  select *
  from json_to_recordset($2::text::json) as result (
    id bigint, tries integer, outcome text, delay float8, status integer, error text, body text, disable boolean
  )
), ended as (
  update deliveries
  set status = case when outcome in ('delivered', 'dead') then outcome else 'pending' end,
    tries = case when outcome = 'back' then result.tries - 1 else result.tries end,
    next_at = case when outcome in ('delivered', 'dead') then null else now() + make_interval(secs => delay) end,
    ended_at = case when outcome in ('delivered', 'dead') then now() end,
    owner = null, last_status = result.status, last_error = result.error, last_body = result.body
  from result
  where deliveries.id = any (array(select id from result)) and deliveries.id = result.id
    and deliveries.owner is not distinct from $1 and deliveries.tries = result.tries
  returning deliveries.id, webhook_id, record_key, outcome, disable
), of_webhook as (
  select webhook_id, bool_and(outcome <> 'delivered') as failing, bool_or(coalesce(disable, false)) as disable
  from ended
  where outcome <> 'back'
  group by webhook_id
), wanted as (
  update webhooks
  set failing = of_webhook.failing, enabled = enabled and not disable,
    disabled_reason = case when disable then 'gone' else disabled_reason end,
    updated_at = case when disable then now() else updated_at end
  from of_webhook
  where webhooks.id = webhook_id and (webhooks.failing is distinct from of_webhook.failing or disable)
), released as (
  update deliveries
  set next_at = now()
  where next_at is null and ended_at is null and id = any (array(
    select (
      select following.id from deliveries as following
      where following.webhook_id = ended.webhook_id and following.record_key = ended.record_key
        and following.status = 'pending' and following.id > ended.id
      order by following.id limit 1
    )
    from ended
    where outcome in ('delivered', 'dead')
  ))
)
select id::text from ended;

-- Ordered by the column, since the selected `id` is text, in which 9 follows 10.
-- name: list_deliveries ($1 webhook, $2 id that the ids are below, $3 status or null for any, $4 how many)
select :delivery
from deliveries
where webhook_id = $1 and id < $2 and ($3::text is null or status = $3)
order by deliveries.id desc
limit $4;

-- name: get_delivery ($1 webhook, $2 id)
select :delivery, coalesce(deliveries.body, (
    select delivery_bodies.body
    from delivery_bodies
    where delivery_bodies.event_id = deliveries.event_id and delivery_bodies.segment = deliveries.segment
  )) as body
from deliveries
where webhook_id = $1 and id = $2;

-- A delivery that is in flight, or waits for an earlier one of its record, is not changed.
-- name: redeliver ($1 webhook, $2 id)
update deliveries
set status = 'pending', tries = 0, next_at = now(), due_at = now(), ended_at = null, owner = null
where webhook_id = $1 and id = $2
  and (status <> 'pending' or (next_at is not null and (owner is null or next_at <= now())))
returning :delivery;

-- Deletes deliveries: `:past` selects them.
-- name: prune_deliveries ($1 retention in seconds)
with past as materialized (:past), bodies as (
  delete from delivery_bodies
  where event_id = any (array(select event_id from past)) and not exists (
    select from deliveries
    where deliveries.event_id = delivery_bodies.event_id and deliveries.segment = delivery_bodies.segment
      and deliveries.id not in (select id from past)
  )
)
delete from deliveries
where id = any (array(select id from past))
returning true;

-- Deliveries that ended more than twice the retention ago. Their segment was not truncated, because others in it are pending or
-- ended later.
-- name: past_ended ($1 retention in seconds)
select id, event_id from deliveries
where ended_at < now() - make_interval(secs => 2 * $1::double precision)
order by ended_at limit 1000 for update skip locked;

-- Deliveries of a webhook that was deleted, or was disabled for this long. Newest first: a waiting delivery goes before the one
-- that it waits for, so that none waits forever if the webhook is enabled meanwhile.
-- name: past_left ($1 retention in seconds)
with recursive known (id) as (
  (select webhook_id from deliveries order by webhook_id limit 1)
  union all
  select (select webhook_id from deliveries where webhook_id > known.id order by webhook_id limit 1)
  from known
  where known.id is not null
)
select found.id, found.event_id
from known
left join webhooks on webhooks.id = known.id
cross join lateral (
  select id, event_id from deliveries where webhook_id = known.id order by id desc limit 1000
) as found
where known.id is not null and (webhooks.id is null
  or (not webhooks.enabled and webhooks.updated_at < now() - make_interval(secs => $1::double precision)))
limit 1000;

-- New deliveries go to another segment after half of the retention, if one is empty.
-- name: change_segment ($1 retention in seconds)
update delivery_segment
set current = next, since = now()
from next_delivery_segment() as next
where next is not null and since < now() - make_interval(secs => $1::double precision / 2)
  and (select true from deliveries where segment = current limit 1)
returning current;

-- name: truncate_expired ($1 retention in seconds)
select true as truncated where truncate_expired_deliveries(now() - make_interval(secs => $1::double precision));
