-- The functions that read and write distributed collections look for their tables in the schema of these.
set local citus.enable_ddl_propagation = off;

do $$
declare
  -- In a text for format(), and in a replacement of a regular expression.
  place constant text := replace(replace(quote_ident(plinth_collections_schema()), '%', '%%'), '\', '\\');
  routine oid;
  definition text;
begin
  for routine in
    select oid from pg_proc
    where pronamespace = current_schema()::regnamespace and proname in (
      'distribute_collection', 'set_unique_columns', 'refer_to', 'stop_referring', 'rename_distributed_collection',
      'place_of', 'lock_record', 'lock_records', 'columns_of', 'literals_of', 'require_references', 'insert_records', 'store_record',
      'delete_record', 'release_references', 'delete_referring',
      'documents_of', 'distributed_page', 'counted_page', 'distributed_referring', 'distributed_ids', 'bounded_referring'
    )
  loop
    definition := pg_get_functiondef(routine);
    -- Those that are deleted with a record are tables of the service: two spaces keep this statement from the next one.
    definition := replace(definition, '''delete from %I where %I = %L'', dependent.', '''delete from  %I where %I = %L'', dependent.');
    definition := regexp_replace(definition, '\m(from|update|into|table|references|on) %I', '\1 ' || place || '.%I', 'g');
    definition := regexp_replace(definition, 'null::%I', 'null::' || place || '.%I', 'g');
    definition := regexp_replace(definition, 'format\(''%I'', ', 'format(''' || place || '.%I'', ', 'g');
    execute definition;
  end loop;
end $$;
