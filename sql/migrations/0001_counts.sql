-- Exact totals without counting rows. Every statement that inserts into or deletes from a counted
-- table adds one row here, so writers never wait for each other; a total is the sum, read in the
-- snapshot of whoever asks; fold_counts adds rows up so that the sum stays cheap.
create table counts (
  collection text not null,
  delta bigint not null
);

create index counts_collection on counts (collection) include (delta);

-- Statement triggers, not row triggers, see deletes that a foreign key cascades, and cost one row a
-- statement. PostgreSQL wants one trigger per event when a transition table is named.
create function count_inserted() returns trigger language plpgsql as $$
declare
  n bigint;
begin
  select count(*) into n from changed;
  if n > 0 then
    insert into counts (collection, delta) values (tg_table_name, n);
  end if;
  return null;
end $$;

create function count_deleted() returns trigger language plpgsql as $$
declare
  n bigint;
begin
  select count(*) into n from changed;
  if n > 0 then
    insert into counts (collection, delta) values (tg_table_name, -n);
  end if;
  return null;
end $$;
