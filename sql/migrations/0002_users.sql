-- One shape for every collection: `doc` is the record as it goes to the client, rendered once when it
-- is written; the other columns repeat what PostgreSQL itself has to compare, sort or constrain.
-- The id is a UUIDv7 whose timestamp is the record's created_at, so the primary key is also the
-- index of the default order.
create table users (
  id uuid primary key,
  version integer not null default 1,
  updated_at timestamptz not null,
  doc text not null,
  email text collate "C" not null constraint users_email_key unique
);

create trigger users_inserted after insert on users
  referencing new table as changed for each statement execute function count_inserted();

create trigger users_deleted after delete on users
  referencing old table as changed for each statement execute function count_deleted();

-- Apart from the record, so that no statement that reads records can give a hash away.
create table passwords (
  user_id uuid primary key references users (id) on delete cascade,
  hash text not null
);
