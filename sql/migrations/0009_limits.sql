-- Failed credentials and requests, counted for all processes: `expire` in milliseconds since 1970, the columns in the
-- order that rate-limiter-flexible writes them. A count need not outlive a crash, and no commit waits for it.
create unlogged table limits (
  key text primary key,
  points integer not null default 0,
  expire bigint
) with (fillfactor = 50);
create index limits_expire on limits (expire);
