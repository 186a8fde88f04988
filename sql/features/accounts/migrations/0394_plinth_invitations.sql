-- Records that come into being when a person accepts an invitation by mail. `targets`: the collections with the records to which the new
-- ones refer. `outcome`: accepted or withdrawn; null while the invitation is open.
create table plinth_invitations (
  id uuid primary key,
  email text not null,
  inviter_id uuid not null references :collections.users (id) on delete cascade,
  records text not null,
  collections text[] not null,
  targets text[] not null,
  outcome text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);

create index plinth_invitations_inviter on plinth_invitations (inviter_id, id);
create index plinth_invitations_email on plinth_invitations (email);
create index plinth_invitations_expires on plinth_invitations (expires_at);

-- An invitation creates no record of a later collection that has the name of the one for which it was made.
create function plinth_end_invitations() returns trigger language plpgsql as $$
begin
  delete from plinth_invitations where old.name = any (collections) or new.name = any (collections);
  return null;
end $$;

create trigger plinth_invitations_ended after insert or delete or update of name on collections
  for each row execute function plinth_end_invitations();
