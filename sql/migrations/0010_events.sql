-- The outbox: one row for each record that a statement created, changed or deleted, written with it. `seq` is taken
-- after the statement has locked its records, so that the events of one record are in the order of its changes; the
-- sequence keeps no values back (cache 1). docs/events.md tells up to where it can be read.
create table events (
  seq bigint generated always as identity (cache 1) primary key,
  -- The user whom the scope `self` lets read it.
  owner uuid,
  record uuid not null,
  time timestamptz not null default now(),
  -- The record's version after the change; of a deleted record the last one.
  version integer not null,
  type text not null,
  -- The document after the change; none when the record was deleted.
  data text
);

-- Up to where events have been pruned: those after it are all there.
create table events_floor (floor bigint not null);
insert into events_floor values (0);

-- A statement trigger for inserts, updates and deletes, which sees what a foreign key cascades as well. Its argument
-- tells whose the records are: `id`, the records are users; `user_id`, they belong to one; none, nobody's. Only a
-- session that says so (EVENTS=off) writes no events: whoever else changes records by SQL is seen too. Each trigger
-- plans only the branch that it runs.
create function note_events() returns trigger language plpgsql as $$
declare
  kind constant text := tg_table_name || case tg_op when 'INSERT' then '.created' when 'UPDATE' then '.updated' else '.deleted' end;
begin
  if tg_nargs = 0 then
    insert into events (record, version, type, data)
    select id, version, kind, case when tg_op <> 'DELETE' then doc end from changed;
  elsif tg_argv[0] = 'id' then
    insert into events (owner, record, version, type, data)
    select id, id, version, kind, case when tg_op <> 'DELETE' then doc end from changed;
  else
    insert into events (owner, record, version, type, data)
    select user_id, id, version, kind, case when tg_op <> 'DELETE' then doc end from changed;
  end if;
  return null;
end $$;

create trigger users_created_events after insert on users referencing new table as changed for each statement
  when (current_setting('plinth.events', true) is distinct from 'off') execute function note_events('id');
create trigger users_updated_events after update on users referencing new table as changed for each statement
  when (current_setting('plinth.events', true) is distinct from 'off') execute function note_events('id');
create trigger users_deleted_events after delete on users referencing old table as changed for each statement
  when (current_setting('plinth.events', true) is distinct from 'off') execute function note_events('id');

create trigger items_created_events after insert on items referencing new table as changed for each statement
  when (current_setting('plinth.events', true) is distinct from 'off') execute function note_events();
create trigger items_updated_events after update on items referencing new table as changed for each statement
  when (current_setting('plinth.events', true) is distinct from 'off') execute function note_events();
create trigger items_deleted_events after delete on items referencing old table as changed for each statement
  when (current_setting('plinth.events', true) is distinct from 'off') execute function note_events();

create trigger posts_created_events after insert on posts referencing new table as changed for each statement
  when (current_setting('plinth.events', true) is distinct from 'off') execute function note_events('user_id');
create trigger posts_updated_events after update on posts referencing new table as changed for each statement
  when (current_setting('plinth.events', true) is distinct from 'off') execute function note_events('user_id');
create trigger posts_deleted_events after delete on posts referencing old table as changed for each statement
  when (current_setting('plinth.events', true) is distinct from 'off') execute function note_events('user_id');
