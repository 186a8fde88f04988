/**
 * The schema that a careful developer would give a server without Plinth: a column a field, the rest in one
 * jsonb column, and an index for each order and for the search.
 */
export const PLAIN_TABLES = `
create extension if not exists pg_trgm;

create table users (
  id uuid primary key default uuidv7(),
  email text not null constraint users_email_key unique,
  name text not null,
  age integer,
  extra jsonb not null default '{}',
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table items (
  id uuid primary key default uuidv7(),
  name text not null,
  price double precision,
  extra jsonb not null default '{}',
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create index users_created_at on users (created_at, id);
create index items_created_at on items (created_at desc, id desc);
create index items_name on items (name);
create index items_price on items (price);
create index items_search on items using gin (lower(name) gin_trgm_ops);
`;
