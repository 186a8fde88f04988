-- Who calls a version of the API that retires, by day. An empty principal stands for those beyond the number that a process
-- remembers at a time.
create table version_calls (
  version text not null,
  principal text not null,
  day date not null,
  calls bigint not null,
  address text not null,
  called_at timestamptz not null,
  primary key (version, principal, day)
);
create index version_calls_day on version_calls (day);
