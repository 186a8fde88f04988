-- The records that refer to each of some others, up to a limit each. When all their documents together have more than
-- max_bytes, none is read, and the only row has `too_large` instead. The inner query selects the length, since Citus sends
-- its columns to the coordinator. distributed_referring, which counts nothing, is what the previous version uses.
set local citus.enable_ddl_propagation = off;

create function bounded_referring(collection text, column_name text, ids uuid[], rows bigint, max_bytes bigint, too_large text)
  returns table (parent text, docs text) language plpgsql as $$
declare
  bytes bigint;
  total bigint := 0;
begin
  foreach parent in array ids::text[] loop
    execute format(
      'select sum(bytes) from (select id, octet_length(doc) as bytes from %I where %I = %L order by id limit %s) as record',
      collection, column_name, parent, rows
    ) into bytes;
    total := total + coalesce(bytes, 0);
    if total > max_bytes then
      parent := null;
      docs := too_large;
      return next;
      return;
    end if;
  end loop;
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
