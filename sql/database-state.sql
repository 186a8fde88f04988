-- Equal texts: no transaction has been committed on the server between both statements, so that a query has equal results. The
-- server is part of it, since another one may have other transactions of these numbers. Null on a standby, whose snapshots do not
-- have all transactions that run. (After a crash of a server with synchronous_commit=off, lost transactions may have had the numbers of
-- later ones.)
-- name: state
select case
  when not pg_is_in_recovery() then concat(extract(epoch from pg_postmaster_start_time()), ' ', pg_current_snapshot())
end as state;
