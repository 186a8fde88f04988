-- Work that goes on after the response to its request.
create table plinth_jobs (
  id uuid primary key,
  -- The principal of the request.
  caller text not null,
  -- What is to be done, and with which permission, as JSON.
  task text not null,
  state text not null check (state in ('receiving', 'queued', 'running', 'done', 'failed', 'cancelled')),
  created_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz,
  -- The process that does it, and until when others leave it alone.
  lease uuid,
  leased_until timestamptz,
  tries integer not null default 0,
  input_bytes bigint not null default 0,
  -- How far it has got, as JSON: written in the transaction of what was done.
  progress text,
  -- The report or the error, as JSON.
  outcome text
);

create index plinth_jobs_unfinished on plinth_jobs (created_at) where state in ('receiving', 'queued', 'running');
create index plinth_jobs_ended on plinth_jobs (ended_at) where ended_at is not null;
create index plinth_jobs_caller on plinth_jobs (caller, id);

-- The body of its request, or the result of an export.
create table plinth_job_parts (
  job uuid not null references plinth_jobs on delete cascade,
  position bigint not null,
  bytes bytea not null,
  primary key (job, position)
);
