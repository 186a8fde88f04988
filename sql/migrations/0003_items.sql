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

-- Substrings of three characters and more.
create index items_search on items using gin (lower(name) gin_trgm_ops);

create trigger items_inserted after insert on items
  referencing new table as changed for each statement execute function count_inserted();

create trigger items_deleted after delete on items
  referencing old table as changed for each statement execute function count_deleted();
