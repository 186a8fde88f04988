-- A document with some of its fields, and with the members that the service adds: its id, times and version.
create or replace function plinth_document_part(doc text, fields text[]) returns text
language sql immutable parallel safe as $$
  select '{' || string_agg(to_json(key)::text || ':' || value::text, ',' order by place) || '}'
  from json_each(doc::json) with ordinality as member (key, value, place)
  where place = 1 or key = any (fields) or key in ('created_at', 'updated_at', '_version')
$$;
