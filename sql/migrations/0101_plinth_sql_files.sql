-- The operator's SQL files that have been run.
create table plinth_sql_files (
  name text primary key,
  checksum text not null,
  applied_at timestamptz not null default now()
);

alter table plinth_document_work drop constraint plinth_document_work_state_check;
-- `due`: the columns of a collection whose documents an SQL file may have changed are to be filled.
alter table plinth_document_work add constraint plinth_document_work_state_check check (state in ('repeat', 'offer', 'due'));

-- A document with other fields: null removes one. It retains the layout that the service expects, and has the next version.
create function plinth_change(doc text, changes jsonb) returns text
  language sql immutable strict parallel safe
  return (
    select '{' || string_agg(to_json(key)::text || ':' || value, ',' order by part, position) || '}'
    from (
      select key, position,
        case key when '_version' then ((value::text)::integer + 1)::text else value::text end as value,
        case key when 'id' then 0 when 'created_at' then 3 when 'updated_at' then 4 when '_version' then 5 else 1 end as part
      from json_each(doc::json) with ordinality as members (key, value, position)
      where key in ('id', 'created_at', 'updated_at', '_version') or not changes ? key
      union all
      select key, position, value::text, 2
      from jsonb_each(changes) with ordinality as changed (key, value, position)
      where value <> 'null' and key not in ('id', 'created_at', 'updated_at', '_version')
    ) as members
  );
