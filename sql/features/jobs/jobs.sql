-- Jobs. Each change of a running one names its lease, so that a process that has lost it changes nothing.

-- Others that ask for a job wait, so that the bounds hold.
-- name: lock_jobs
select pg_advisory_xact_lock(x'706c6e74'::integer, hashtext('plinth_jobs'));

-- name: count_jobs ($1 caller)
select count(*) filter (where caller = $1)::integer as own, count(*)::integer as number
from plinth_jobs
where state in ('receiving', 'queued', 'running');

-- name: open_job ($1 id, $2 caller, $3 task, $4 seconds)
insert into plinth_jobs (id, caller, task, state, leased_until)
values ($1, $2, $3, 'receiving', now() + make_interval(secs => $4::double precision));

-- name: add_input ($1 id, $2 position, $3 bytes in base64, $4 seconds)
with _open as (
  update plinth_jobs
  set input_bytes = input_bytes + length(decode($3, 'base64')),
    leased_until = now() + make_interval(secs => $4::double precision)
  where id = $1 and state = 'receiving'
  returning id
)
insert into plinth_job_parts (job, position, bytes)
select id, $2::bigint, decode($3, 'base64') from _open
returning job;

-- name: queue_job ($1 id)
update plinth_jobs set state = 'queued', leased_until = null
where id = $1 and state = 'receiving'
returning id;

-- name: remove_job ($1 id)
delete from plinth_jobs where id = $1;

-- name: input ($1 id, $2 position of the first part)
select encode(bytes, 'base64') as bytes from plinth_job_parts
where job = $1 and position = $2::bigint;

-- A queued job, or one whose process has not reported in time.
-- name: claim_job ($1 lease, $2 seconds)
update plinth_jobs
set state = 'running', lease = $1::uuid, leased_until = now() + make_interval(secs => $2::double precision),
  started_at = coalesce(started_at, now()), tries = tries + 1
where id = (
  select id from plinth_jobs
  where state in ('receiving', 'queued', 'running') and (state = 'queued' or (state = 'running' and leased_until < now()))
  order by created_at
  limit 1
  for update skip locked
)
returning id, task, tries, input_bytes::text, progress;

-- name: renew_lease ($1 id, $2 lease, $3 seconds)
update plinth_jobs set leased_until = now() + make_interval(secs => $3::double precision)
where id = $1 and lease = $2::uuid and state = 'running'
returning id;

-- A job that advances does not fail again and again for one reason.
-- name: advance_job ($1 id, $2 lease, $3 progress)
update plinth_jobs set progress = $3, tries = 1
where id = $1 and lease = $2::uuid and state = 'running'
returning id;

-- name: end_job ($1 id, $2 lease, $3 state, $4 outcome, $5 progress)
with _ended as (
  update plinth_jobs
  set state = $3, outcome = $4, progress = coalesce($5, progress), ended_at = now(), lease = null, leased_until = null
  where id = $1 and lease = $2::uuid and state = 'running'
  returning id
), _input as (
  delete from plinth_job_parts where job in (select id from _ended)
)
select id from _ended;

-- Another process may continue it at once.
-- name: release_job ($1 id, $2 lease)
update plinth_jobs set state = 'queued', lease = null, leased_until = null, tries = tries - 1
where id = $1 and lease = $2::uuid and state = 'running';

-- name: cancel_job ($1 id)
with _cancelled as (
  update plinth_jobs set state = 'cancelled', ended_at = now(), lease = null, leased_until = null
  where id = $1 and state in ('receiving', 'queued', 'running')
  returning id
), _input as (
  delete from plinth_job_parts where job in (select id from _cancelled)
)
select id from _cancelled;

-- name: list_jobs ($1 caller, $2 id; null: of all)
select id, caller, task, state, input_bytes::text, progress, outcome,
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created_at,
  to_char(started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as started_at,
  to_char(ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as ended_at
from plinth_jobs
where ($1::text is null or caller = $1::text) and ($2::text is null or id = $2::text::uuid)
order by id desc
limit 100;

-- Jobs that have ended long ago, and jobs whose client did not send the whole body.
-- name: prune_jobs ($1 seconds)
delete from plinth_jobs
where id in (
  select id from plinth_jobs
  where (ended_at is not null and ended_at < now() - make_interval(secs => $1::double precision))
    or (state = 'receiving' and leased_until < now())
  limit 100
)
returning id;

-- name: disabled_user ($1 user id)
select from plinth_disabled_users where user_id = $1::uuid;

-- Who creates the records of the transaction, for the triggers that write events.
-- name: set_actor ($1 setting)
select set_config('plinth.actor', $1, true) as actor;
