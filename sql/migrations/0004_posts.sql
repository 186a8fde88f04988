create table posts (
  id uuid primary key,
  version integer not null default 1,
  updated_at timestamptz not null,
  doc text not null,
  user_id uuid not null constraint posts_user_id_fkey references users (id) on delete cascade
);

-- The posts of one user, in the order in which they are listed.
create index posts_user_id on posts (user_id, id);

create trigger posts_inserted after insert on posts
  referencing new table as changed for each statement execute function count_inserted();

create trigger posts_deleted after delete on posts
  referencing old table as changed for each statement execute function count_deleted();
