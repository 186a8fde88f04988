-- Records of collections: their tables, their totals, and what is known of their declarations.

-- The tables of collections have a schema of their own, so that a collection can have any name that the service has in its own.
do $$
declare
  place constant name := :collections_text;
  is_missing constant boolean := not exists (select from pg_namespace where nspname = place);
begin
  if is_missing and not has_database_privilege(current_database(), 'create') then
    raise exception 'the role % may not create the schema of the collections: run `create schema % authorization %` as the owner of the database',
      current_user, quote_ident(place), quote_ident(current_user);
  elsif is_missing then
    execute format('create schema %I', place);
  elsif exists (select from pg_class where relnamespace = quote_ident(place)::regnamespace) then
    raise exception 'the schema % for the tables of collections has tables of another program, or of a service whose own schema was removed: rename or drop it', place;
  elsif not has_schema_privilege(place, 'create, usage') then
    raise exception 'the role % may not create tables in the schema of the collections: run `alter schema % owner to %` as its owner',
      current_user, quote_ident(place), quote_ident(current_user);
  end if;
end $$;

-- Tells each session the name of that schema.
create function plinth_collections_schema() returns text language sql immutable parallel safe as $$select :collections_text::text$$;

-- Indexes for searches use it. The program creates it first where other services find it too (src/db/migrate.ts).
create extension if not exists pg_trgm;

-- The declarations that the tables of collections match, as JSON text.
create table collections (
  name text primary key,
  declaration text not null,
  applied_at timestamptz not null default now()
);

-- Work on the documents of a collection besides that of the present plan, as JSON text. `repeat`: it is done, and is repeated
-- for what services with the former declaration wrote meanwhile. `offer`: it loses values, and waits for consent. `due`: the
-- columns of a collection whose documents an SQL file may have changed are to be filled.
create table plinth_document_work (
  collection text not null,
  work text not null,
  state text not null check (state in ('repeat', 'offer', 'due')),
  primary key (collection, work)
);

-- The operator's SQL files that have been run.
create table plinth_sql_files (
  name text primary key,
  checksum text not null,
  applied_at timestamptz not null default now()
);

-- Exact totals without counting. Each statement that inserts into or deletes from a collection adds rows here, with the moment
-- in the records' ids, so that writers never wait for each other. A total is a sum, read in the snapshot of the reader.
create table counts (
  collection text not null,
  delta bigint not null,
  at bigint not null
);
create index counts_collection on counts (collection) include (at, delta);

-- The rows of `counts` that have been added up, and how many records come before certain moments. A page deep inside a list
-- starts at the last of those before it.
create table blocks (
  collection text primary key,
  total bigint not null default 0,
  -- The moments at which blocks start, ascending, the first 0, and the number of records before each.
  starts bigint[] not null default '{0}',
  before bigint[] not null default '{0}'
);
-- Numbers in order hardly compress, and would be decompressed at each read.
alter table blocks alter starts set storage external, alter before set storage external;

-- What was deleted, for services that distinguish 410 from 404 (TOMBSTONES=on). An id is never used again.
create table tombstones (
  id uuid primary key,
  deleted_at timestamptz not null default now()
);
create index tombstones_deleted_at on tombstones (deleted_at);

-- Milliseconds since 1970: the first 48 bits of a UUIDv7 (RFC 9562 section 5.7).
create function moment_of(id uuid) returns bigint
  language sql immutable strict parallel safe
  return ('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint;

-- The least id of a moment.
create function first_id(moment bigint) returns uuid
  language sql immutable strict parallel safe
  return (overlay(lpad(to_hex(moment), 12, '0') placing '-' from 9 for 0) || '-0000-0000-000000000000')::uuid;

-- What an index finds texts of one or two characters by: every character of a text, and every pair of neighbours, those at odd
-- positions and those at even ones. Longer texts have trigrams.
create function grams(value text) returns text[]
  language sql immutable strict parallel safe
  return string_to_array(
    regexp_replace(value, '(.)', e'\\1\x01', 'g')
      || regexp_replace(value, '(..)', e'\\1\x01', 'g') || e'\x01'
      || regexp_replace(substr(value, 2), '(..)', e'\\1\x01', 'g'),
    e'\x01'
  );

-- A document without a member, and with the next version: for references to records that are deleted.
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

-- A document with other fields: null removes one. It retains the layout that the service expects, and has the next version.
create function plinth_change(doc text, changes jsonb) returns text
  language sql immutable strict parallel safe
  return (
    select '{' || string_agg(to_json(key)::text || ':' || value, ',' order by part, position) || '}'
    from (
      select key, position,
        case key when '_version' then ((value::text)::integer + 1)::text else value::text end as value,
        case key when 'id' then 0 when 'created_at' then 3 when 'updated_at' then 4 when '_version' then 5 else 1 end as part
      from json_each(doc::json) with ordinality as members (key, value, position)
      where key in ('id', 'created_at', 'updated_at', '_version') or not changes ? key
      union all
      select key, position, value::text, 2
      from jsonb_each(changes) with ordinality as changed (key, value, position)
      where value <> 'null' and key not in ('id', 'created_at', 'updated_at', '_version')
    ) as members
  );

-- Adds a statement's changes to `counts`. Many records at once are added by block, not by moment, and hold the blocks as they
-- are until the commit.
create function note_changes(name text, moments bigint[], sign integer) returns void language plpgsql as $$
declare
  bounds bigint[];
begin
  if cardinality(moments) <= 300 then
    insert into counts (collection, at, delta)
    select name, at, sign * count(*) from unnest(moments) as at group by at;
  else
    insert into blocks (collection) values (name) on conflict do nothing;
    select starts into bounds from blocks where collection = name for share;
    insert into counts (collection, at, delta)
    select name, bounds[width_bucket(at, bounds)], sign * count(*) from unnest(moments) as at group by 2;
  end if;
end $$;

-- Statement triggers, not row triggers, see deletes that a foreign key cascades, and cost few rows a statement. PostgreSQL
-- requires one trigger per event when a transition table is named.
create function count_inserted() returns trigger language plpgsql as $$
begin
  perform note_changes(tg_table_name, array(select moment_of(id) from changed), 1);
  return null;
end $$;

-- Each session says by a setting whether tombstones are retained, so that services without them write none.
create function count_deleted() returns trigger language plpgsql as $$
begin
  perform note_changes(tg_table_name, array(select moment_of(id) from changed), -1);
  if current_setting('plinth.tombstones', true) = 'on' then
    insert into tombstones (id) select id from changed on conflict do nothing;
  end if;
  return null;
end $$;

-- Attaches counting and events to a collection's table. `owner` is the column with the id of the user who may read a record's
-- events with the scope `self`; null: nobody. Each table has a function of its own, whose plan PostgreSQL caches. A session
-- that says so (EVENTS=off) writes no events, so that changes by SQL are seen too.
create function attach_collection(collection regclass, owner name default null) returns void language plpgsql as $$
declare
  table_name constant name := (select relname from pg_class where oid = collection);
  place constant regnamespace := (select relnamespace from pg_class where oid = collection);
  event_function constant name := table_name || '_note_events';
  change record;
begin
  execute format(
    $function$
      create or replace function %s.%I() returns trigger language plpgsql as $body$ #variable_conflict use_variable
      begin
        insert into events (segment, owner, record, version, type, data)
        select (select current from event_segment), %s, id, version,
          %L || case tg_op when 'INSERT' then 'created' when 'UPDATE' then 'updated' else 'deleted' end,
          case when tg_op <> 'DELETE' then doc end
        from changed;
        return null;
      end $body$
    $function$,
    place, event_function, coalesce('changed.' || quote_ident(owner), 'null::uuid'), table_name || '.'
  );
  for change in
    select * from (values
      ('insert', 'new', 'created', 'inserted'), ('update', 'new', 'updated', null), ('delete', 'old', 'deleted', 'deleted')
    ) as changes (operation, transition, event, counted)
  loop
    execute format(
      'create or replace trigger %I after %s on %s referencing %s table as changed for each statement
        when (current_setting(''plinth.events'', true) is distinct from ''off'') execute function %s.%I()',
      table_name || '_' || change.event || '_events', change.operation, collection, change.transition, place, event_function
    );
    if change.counted is not null then
      execute format(
        'create or replace trigger %I after %s on %s referencing %s table as changed for each statement
          execute function %I()',
        table_name || '_' || change.counted, change.operation, collection, change.transition, 'count_' || change.counted
      );
    end if;
  end loop;
end $$;

-- Tables of collections: `doc` is the record as clients get it, rendered once when it is written; the other columns repeat
-- what PostgreSQL itself has to compare, sort or constrain. The id is a UUIDv7 whose timestamp is the record's created_at, so
-- that the primary key is also the index of the default order.
create table :collections.users (
  id uuid primary key,
  version integer not null default 1,
  updated_at timestamptz not null,
  doc text not null,
  email text collate "C" not null constraint users_email_key unique
);

create table :collections.items (
  id uuid primary key,
  version integer not null default 1,
  updated_at timestamptz not null,
  doc text not null,
  name text not null,
  price double precision
);
-- One index per order that a list can have besides the default one. An absent price is last in either direction, so that the
-- two directions of price are two indexes.
create index items_name on :collections.items (name collate "C", id);
create index items_price_asc on :collections.items (price asc nulls last, id asc);
create index items_price_desc on :collections.items (price desc nulls last, id desc);
create index items_search on :collections.items using gin (lower(name) gin_trgm_ops);
create index items_grams on :collections.items using gin (grams(lower(name)));

create table :collections.posts (
  id uuid primary key,
  version integer not null default 1,
  updated_at timestamptz not null,
  doc text not null,
  user_id uuid not null constraint posts_user_id_fkey references :collections.users (id) on delete cascade
);
-- The posts of one user, in the order in which they are listed.
create index posts_user_id on :collections.posts (user_id, id);

select attach_collection(format('%I.users', plinth_collections_schema())::regclass, 'id');
select attach_collection(format('%I.items', plinth_collections_schema())::regclass);
select attach_collection(format('%I.posts', plinth_collections_schema())::regclass, 'user_id');

-- What the service itself reads of the collection that people sign in with.
create view plinth_users as select id, doc, email from :collections.users;
