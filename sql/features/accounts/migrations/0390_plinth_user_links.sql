-- The users that tokens of other issuers mean. `claims` is the SHA-256 of the values that the last token gave the user.
create table plinth_user_links (
  issuer text not null,
  subject text not null,
  user_id uuid not null references :collections.users (id) on delete cascade,
  claims text not null,
  created_at timestamptz not null default now(),
  primary key (issuer, subject)
);

create index plinth_user_links_user on plinth_user_links (user_id);
