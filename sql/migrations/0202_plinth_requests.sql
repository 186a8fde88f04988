-- Callers and their requests.

-- API keys and client certificates, each known by its SHA-256 alone.
create table credentials (
  id uuid primary key,
  kind text not null check (kind in ('key', 'certificate')),
  hash bytea not null unique,
  label text not null,
  subject text not null,
  scopes text[] not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  last_used_at timestamptz
);

-- What can be used once: the SHA-256 of a signature, or of an issuer and a `jti`. Shared by all processes.
create table taken (
  hash bytea primary key,
  until timestamptz not null
);
create index taken_until on taken (until);

-- Failed credentials and requests, counted for all processes: `expire` in milliseconds since 1970. A count need not outlive
-- a crash, and no commit waits for it.
create unlogged table limits (
  key text primary key,
  points integer not null default 0,
  expire bigint
) with (fillfactor = 50);
create index limits_expire on limits (expire);

-- Responses that are retained for a repeat of the request (draft-ietf-httpapi-idempotency-key-header), each written in the
-- transaction of its record. `parts`: what a response refers to instead of repeating it. `bytes` are limited in sum.
create table idempotency_keys (
  caller text not null,
  key text not null,
  fingerprint text not null,
  status integer not null,
  headers text not null,
  body text,
  created_at timestamptz not null default now(),
  parts text,
  bytes integer not null generated always as (
    128 + octet_length(caller) + octet_length(key) + octet_length(headers)
      + coalesce(octet_length(body), 0) + coalesce(octet_length(parts), 0)
  ) stored,
  primary key (caller, key)
);
create index idempotency_keys_created_at on idempotency_keys (created_at);

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

-- Notifies every process of a credential that is no longer valid, in the transaction that makes it so.
create function tell_revoked() returns trigger language plpgsql as $$
begin
  perform pg_notify('plinth_revoked', encode(old.hash, 'base64'));
  return null;
end $$;

create trigger credentials_revoked after delete or update of hash, scopes, subject, expires_at on credentials
  for each row execute function tell_revoked();
