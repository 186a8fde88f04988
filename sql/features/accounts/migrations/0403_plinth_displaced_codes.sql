-- Whether a code is one of the newest of its purpose, of which alone an address may have three.
alter table plinth_mail_codes add column is_counted boolean not null default true;
create index plinth_mail_codes_counted on plinth_mail_codes (purpose, expires_at desc) where is_counted;
