-- Fields of a document, as text without braces, with others laid over them: the texts of their values, by their names. One
-- that is there keeps its place, one that is not comes last. A name that stands once is where its value is to be put in,
-- at a quarter of what it takes to put all together anew; but it may stand deeper too, or end another.
create function lay_over(fields text, names text[], texts text[]) returns text language plpgsql immutable strict as $$
declare
  result text := fields;
  mark text;
  present text;
  at integer;
begin
  for n in 1 .. cardinality(names) loop
    mark := to_json(names[n])::text || ':';
    present := ('{' || result || '}')::json -> names[n];
    at := strpos(result, mark);
    if present is null then
      result := concat_ws(',', nullif(result, ''), mark || texts[n]);
    elsif substr(result, at + length(mark), length(present)) = present and strpos(substr(result, at + 1), mark) = 0 then
      result := overlay(result placing texts[n] from at + length(mark) for length(present));
    else
      return (
        select string_agg(to_json(name)::text || ':' || coalesce(new.value, old.value::text), ',' order by old.place, new.place)
        from json_each(('{' || fields || '}')::json) with ordinality as old (name, value, place)
        full join unnest(names, texts) with ordinality as new (name, value, place) using (name)
      );
    end if;
  end loop;
  return result;
end $$;
