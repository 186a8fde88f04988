-- Tickets for event streams in browsers, which live for seconds: a crash may lose them.
create unlogged table event_tickets (
  hash bytea primary key,
  principal text not null,
  expires_at timestamptz not null
);
