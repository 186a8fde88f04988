-- How far imports have got, so that an interrupted one can be resumed: the position is written with the records.
-- `key` is a digest of what is imported, and of how.
create table imports (
  key text not null,
  collection text not null,
  -- The byte of the file after the last finished chunk, and the number of its next record or line.
  position bigint not null default 0,
  place bigint not null default 0,
  stored bigint not null default 0,
  refused bigint not null default 0,
  finished boolean not null default false,
  updated_at timestamptz not null default now(),
  unchanged bigint not null default 0,
  retains_ids boolean not null default false,
  primary key (key, collection)
);

-- The new ids of records to which others of the same import may refer, until it ends. `old` is JSON text.
create table import_ids (
  key text not null,
  collection text not null,
  old text not null,
  id uuid not null,
  primary key (key, collection, old)
);

-- References that are in the documents of stored records, and not yet in their columns: the import stores their target later.
create table plinth_import_references (
  key text not null,
  collection text not null,
  field text not null,
  id uuid not null,
  target uuid not null,
  place bigint not null,
  primary key (key, collection, field, id)
);
