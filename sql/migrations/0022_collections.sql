-- The declarations that the tables of collections match, as JSON text.
create table collections (
  name text primary key,
  declaration text not null,
  applied_at timestamptz not null default now()
);

-- Removes a member from a document and increments its version: for references to records that are deleted.
create function without_member(doc text, member text, next_version integer, moment timestamptz) returns text
  language sql immutable strict parallel safe
  return (
    select '{' || string_agg(
      to_json(key)::text || ':' || case key
        when '_version' then next_version::text
        when 'updated_at' then to_json(to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text
        else value::text
      end,
      ',' order by position
    ) || '}'
    from json_each(doc::json) with ordinality as members (key, value, position)
    where key <> member
  );
