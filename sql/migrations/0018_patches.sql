-- Patches read a record, apply the change and write the whole record back, so no record needs the number of the rules by
-- which it was checked, and no document is changed in place.
drop function lay_over;

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
    execute format('alter table %s drop column if exists rules', collection);
  end loop;
end $$;
