-- The words of a text, for the indexes of fields with `x-search: "words"`.
--   A word is a run of letters and digits. Some punctuation would make PostgreSQL look for addresses, tags and compounds, which takes
-- quadratic time, so that it becomes spaces: SEPARATORS in src/list/words.ts are the same characters.
--   PostgreSQL stores up to 1 MB of words for one text, and fails beyond that. So a longer text is read in pieces that end at a
-- space: up to 1,048,576 characters, and until its words have 1,000,000 bytes. Those of 150,000 bytes of text always fit.
--   PostgreSQL itself leaves out a word of 2,047 bytes or more.
create function plinth_words(language regconfig, value text) returns tsvector
  language plpgsql immutable strict parallel safe cost 1000
as $$
declare
  rest text := translate(left(value, 1048576), '&+-./:<@_~', '          ');
  piece text;
  more tsvector;
  words tsvector := '';
begin
  if octet_length(rest) <= 150000 then
    return to_tsvector(language, rest);
  end if;
  while rest <> '' loop
    piece := left(rest, 30000);
    if length(rest) > 30000 then
      piece := coalesce(substring(piece from '^.*\s'), piece);
    end if;
    more := to_tsvector(language, piece);
    exit when pg_column_size(words) + pg_column_size(more) > 1000000;
    words := words || more;
    rest := substr(rest, length(piece) + 1);
  end loop;
  return words;
end
$$;
