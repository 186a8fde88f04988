-- By which field rules a record was checked when it was last written: a number made of the declaration's (src/rules.ts).
-- Fields can be laid over a record that carries the present one without looking at the others, which keep them. 0: by
-- none that are known. Every collection's table gets it, those that were declared here too.
do $$
declare
  collection regclass;
begin
  for collection in
    select attrelid
    from pg_attribute
    join pg_class on pg_class.oid = attrelid
    where relkind in ('r', 'p') and not relispartition and relnamespace = current_schema()::regnamespace
      and (attname, atttypid) in (('id', 'uuid'::regtype), ('version', 'integer'::regtype),
        ('updated_at', 'timestamptz'::regtype), ('doc', 'text'::regtype))
    group by attrelid
    having count(*) = 4
  loop
    execute format('alter table %s add column if not exists rules integer not null default 0', collection);
  end loop;
end $$;
