-- Imports whose records retain their ids, and references to records that an import stores later.
alter table imports
  add column unchanged bigint not null default 0,
  add column retains_ids boolean not null default false;

-- References that are in the documents of stored records, and not yet in their columns.
create table plinth_import_references (
  key text not null,
  collection text not null,
  field text not null,
  id uuid not null,
  target uuid not null,
  place bigint not null,
  primary key (key, collection, field, id)
);
