create extension if not exists pg_trgm;

create table items (
  id uuid primary key,
  version integer not null default 1,
  updated_at timestamptz not null,
  doc text not null,
  name text not null,
  price double precision
);

-- One index per order that a list can have besides the default one. An absent price is last in either
-- direction, so the two directions of price are two indexes.
create index items_name on items (name collate "C", id);
create index items_price_asc on items (price asc nulls last, id asc);
create index items_price_desc on items (price desc nulls last, id desc);

-- Substrings with three letters or digits in a row have trigrams.
create index items_search on items using gin (lower(name) gin_trgm_ops);

-- Shorter ones are found by their first one or two characters: every character of a text, and every pair
-- of neighbours, those at odd places and those at even ones.
create function grams(value text) returns text[]
  language sql immutable strict parallel safe
  return string_to_array(
    regexp_replace(value, '(.)', e'\\1\x01', 'g')
      || regexp_replace(value, '(..)', e'\\1\x01', 'g') || e'\x01'
      || regexp_replace(substr(value, 2), '(..)', e'\\1\x01', 'g'),
    e'\x01'
  );

create index items_grams on items using gin (grams(lower(name)));

create trigger items_inserted after insert on items
  referencing new table as changed for each statement execute function count_inserted();

create trigger items_deleted after delete on items
  referencing old table as changed for each statement execute function count_deleted();
