create table plinth_stats (
  id bigint generated always as identity primary key,
  requested_at timestamptz not null default now()
);
