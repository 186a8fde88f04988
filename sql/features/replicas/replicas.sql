-- Up to where a standby shows the writes of its primary, in bytes; null: it is no standby.
-- name: replayed
select case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::float8 end as position;

-- A position after everything that was committed before.
-- name: written
select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as position;
