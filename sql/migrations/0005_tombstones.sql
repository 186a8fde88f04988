-- What was deleted, for services that tell 410 from 404 (TOMBSTONES=on). An id is never used again.
create table tombstones (
  id uuid primary key,
  deleted_at timestamptz not null default now()
);

create index tombstones_deleted_at on tombstones (deleted_at);

-- Seen by the trigger, deletes that a foreign key cascades are kept too. Whether to keep any is the
-- session's setting, so that services without tombstones write none.
create or replace function count_deleted() returns trigger language plpgsql as $$
declare
  n bigint;
begin
  select count(*) into n from changed;
  if n > 0 then
    insert into counts (collection, delta) values (tg_table_name, -n);
    if current_setting('plinth.tombstones', true) = 'on' then
      insert into tombstones (id) select id from changed on conflict do nothing;
    end if;
  end if;
  return null;
end $$;
