-- Authenticator applications (RFC 6238). The secret is encrypted. `last_step` is the time step of the last code that was accepted.
create table plinth_totp (
  user_id uuid primary key references :collections.users (id) on delete cascade,
  secret text not null,
  last_step bigint not null,
  created_at timestamptz not null default now()
);

-- Codes for people without their second factor, as SHA-256. Each is used once.
create table plinth_recovery_codes (
  user_id uuid not null references :collections.users (id) on delete cascade,
  hash bytea not null,
  primary key (user_id, hash)
);

-- Passkeys of users whose password was reset: no longer a way to sign in, but still a second factor. Programs of the version before
-- do not know them.
create table plinth_second_passkeys (
  like passkeys including defaults,
  primary key (id),
  foreign key (user_id) references :collections.users (id) on delete cascade
);
create index plinth_second_passkeys_user on plinth_second_passkeys (user_id);

create view plinth_all_passkeys as
select id, user_id, public_key, counter, transports, created_at, false as is_second from passkeys
union all
select id, user_id, public_key, counter, transports, created_at, true from plinth_second_passkeys;

-- A reset of the password, which may be the work of someone who reads the mail of the user, removes no second factor.
create or replace function end_sign_ins() returns trigger language plpgsql as $$
begin
  delete from issuer_records
  where user_id = new.user_id and (model in ('Session', 'Interaction', 'Grant') or grant_hash is not null);
  with ended as (
    delete from passkeys where user_id = new.user_id
    returning id, user_id, public_key, counter, transports, created_at
  )
  insert into plinth_second_passkeys (id, user_id, public_key, counter, transports, created_at)
  select * from ended
  on conflict (id) do nothing;
  return null;
end $$;
