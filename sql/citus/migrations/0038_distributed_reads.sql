-- Reads of distributed collections: fan-outs to all shards, each bounded by the page that is read, unless the condition is
-- about the children of one parent. The totals are those of the coordinator.
set local citus.enable_ddl_propagation = off;

create function total_of(collection text) returns bigint language sql stable as $$
  select coalesce((select total from blocks where blocks.collection = $1), 0)
    + coalesce((select sum(delta) from counts where counts.collection = $1), 0)::bigint
$$;

-- The documents of some records as one text; `documents` is the aggregate that makes it of the relation `record`.
create function documents_of(collection text, condition text, documents text, ids uuid[], argument text)
  returns text language plpgsql as $$
declare
  docs text;
begin
  execute format('select %s from %I as record where id = any ($2) and %s', documents, collection, condition)
    into docs using argument, ids;
  return docs;
end $$;

-- A page: its ids from the indexes of the shards, then its documents. `condition` is about `$1`, the argument; with `true`
-- the total is that of the collection.
create function distributed_page(
  collection text, condition text, by text, documents text, rows bigint, skipped bigint, argument text default null
) returns table (total bigint, docs text) language plpgsql as $$
declare
  ids uuid[];
begin
  if condition = 'true' then
    total := total_of(collection);
  else
    execute format('select count(*) from %I where %s', collection, condition) into total using argument;
  end if;
  execute format(
    'select array_agg(id) from (select id from %I where %s order by %s limit %s offset %s) as page',
    collection, condition, by, rows, skipped
  ) into ids using argument;
  docs := documents_of(collection, condition, documents, ids, argument);
  return next;
end $$;

-- A later page in the default order, from the last row-count bucket before it: page_counted of sql/collection/page.sql.
create function counted_page(collection text, is_descending boolean, documents text, rows bigint, skipped bigint)
  returns table (total bigint, docs text) language plpgsql as $$
declare
  added bigint;
  bucket integer;
  ids uuid[];
  list blocks;
  start bigint;
  position bigint := skipped;
begin
  select * into list from blocks where blocks.collection = counted_page.collection;
  select coalesce(list.total, 0) + coalesce(sum(delta), 0), coalesce(sum(greatest(delta, 0)), 0) into total, added
  from counts where counts.collection = counted_page.collection;
  if is_descending then
    position := greatest(total - skipped - rows, 0);
    rows := greatest(least(rows, total - skipped), 0);
  end if;
  bucket := greatest(width_bucket(position - added, coalesce(list.before, '{0}')), 1);
  start := coalesce(list.starts[bucket], 0);
  select position - coalesce(list.before[bucket], 0) - coalesce(sum(delta), 0) into skipped
  from counts where counts.collection = counted_page.collection and at < start;
  if skipped < 0 then
    start := 0;
    skipped := position;
  end if;
  execute format(
    'select array_agg(id) from (select id from %I where id >= %L order by id limit %s offset %s) as page',
    collection, first_id(start), rows, skipped
  ) into ids;
  docs := documents_of(collection, 'true', documents, ids, null);
  return next;
end $$;

-- The documents of a query, whose conditions are about `$1`, an array of values.
create function distributed_rows(query text, arguments text[], rows bigint default null, skipped bigint default 0)
  returns setof text language plpgsql as $$
begin
  return query execute query || case when rows is null then '' else format(' limit %s offset %s', rows, skipped) end
    using arguments;
end $$;

-- The records that refer to each of some others, up to a limit each.
create function distributed_referring(collection text, column_name text, ids uuid[], rows bigint)
  returns table (parent text, docs text) language plpgsql as $$
begin
  foreach parent in array ids::text[] loop
    execute format(
      'select string_agg(doc, '','' order by id) from (select id, doc from %I where %I = %L order by id limit %s) as record',
      collection, column_name, parent, rows
    ) into docs;
    if docs is not null then
      return next;
    end if;
  end loop;
end $$;

-- The ids of a part of a collection, for the row-count buckets.
create function distributed_ids(collection text, since uuid, until uuid, rows bigint)
  returns setof uuid language plpgsql strict as $$
begin
  return query execute
    format('select id from %I where id >= %L and id < %L order by id limit %s', collection, since, until, rows);
end $$;
