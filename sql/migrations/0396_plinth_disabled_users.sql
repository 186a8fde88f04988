-- Users who cannot sign in, and whose tokens and keys are not accepted. Keys name their users by a text.
create table plinth_disabled_users (
  user_id uuid primary key references :collections.users (id) on delete cascade,
  disabled_at timestamptz not null default now()
);

create index plinth_disabled_users_text on plinth_disabled_users ((user_id::text));

-- Ends what the user has begun, so that nothing of it goes on when the user is enabled again. Each use of a credential looks for the
-- user here as well, so that a sign-in which commits meanwhile has no effect.
create function plinth_end_of_disabled() returns trigger language plpgsql as $$
begin
  delete from issuer_records
  where user_id = new.user_id and (model in ('Session', 'Interaction', 'Grant') or grant_hash is not null);
  return null;
end $$;

create trigger plinth_disabled_users_added after insert on plinth_disabled_users
  for each row execute function plinth_end_of_disabled();
create trigger plinth_disabled_users_changed after insert or delete on plinth_disabled_users
  for each row execute function notify_issuer('revoked');
