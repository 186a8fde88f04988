-- Answers kept for a repeat of the same request (draft-ietf-httpapi-idempotency-key-header), each written in
-- the transaction of the record that it tells of.
create table idempotency_keys (
  caller text not null,
  key text not null,
  fingerprint text not null,
  status integer not null,
  headers text not null,
  body text,
  created_at timestamptz not null default now(),
  primary key (caller, key)
);

create index idempotency_keys_created_at on idempotency_keys (created_at);
