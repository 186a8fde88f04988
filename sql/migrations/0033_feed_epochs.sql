-- The numbers of events continue as long as the database does. After a failover that lost writes, or a restore, numbers
-- that clients know are used again. So each history of the database is an epoch, which cursors name: `first_after` is the
-- last event of the epochs before it.
create table feed_epochs (
  number integer primary key,
  name text not null,
  history text,
  first_after bigint not null
);
insert into feed_epochs (number, name, history, first_after)
values (1, substr(md5(random()::text || clock_timestamp()), 1, 6), null, 0);

-- What a restored or promoted server does not share with the one before: the cluster, the database and the timeline. Null
-- where the server does not tell.
create function database_history() returns text language plpgsql stable as $$
begin
  return (select system_identifier from pg_control_system())
    || '.' || (select oid from pg_database where datname = current_database())
    || '.' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);
exception when others then
  return null;
end $$;

-- To be called by each session before it writes. Of sessions that notice a new history at once, one adds the epoch.
create function note_feed_epoch() returns void language plpgsql as $$
declare
  newest feed_epochs;
  present text;
begin
  if pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' then return; end if;
  present := database_history();
  select * into newest from feed_epochs order by number desc limit 1;
  if present is null or newest.history = present then return; end if;
  if newest.history is null then
    update feed_epochs set history = present where number = newest.number and history is null;
    return;
  end if;
  insert into feed_epochs (number, name, history, first_after)
  select newest.number + 1, substr(md5(random()::text || clock_timestamp()), 1, 6), present,
    greatest(floor, (select max(seq) from events))
  from events_floor
  on conflict (number) do nothing;
  delete from feed_epochs where number <= newest.number - 1000;
end $$;
