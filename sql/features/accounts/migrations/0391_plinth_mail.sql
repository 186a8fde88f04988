-- Messages that are to be sent. A code in a message is made when the message is sent, so that none is stored in plain text.
create table plinth_mail (
  id uuid primary key,
  purpose text not null,
  recipient text not null,
  language text not null,
  user_id uuid references :collections.users (id) on delete cascade,
  attempts integer not null default 0,
  next_at timestamptz not null default now(),
  created_at timestamptz not null default now()
);

create index plinth_mail_next on plinth_mail (next_at);
create index plinth_mail_recipient on plinth_mail (recipient);

-- Codes in messages, as SHA-256. Each is used once.
create table plinth_mail_codes (
  hash bytea primary key,
  purpose text not null,
  recipient text not null,
  user_id uuid references :collections.users (id) on delete cascade,
  expires_at timestamptz not null
);

create index plinth_mail_codes_recipient on plinth_mail_codes (recipient);
create index plinth_mail_codes_expires on plinth_mail_codes (expires_at);
