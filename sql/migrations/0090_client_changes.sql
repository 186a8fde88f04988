-- Clients of the authorization server can be changed; `version` counts the changes. Tokens that are cached may have lost
-- scopes with a change.
alter table issuer_clients add column version integer not null default 1;
create trigger issuer_clients_changed after update on issuer_clients
  for each statement execute function notify_issuer('revoked');

-- `sign` is for ES256, which signs access tokens. Earlier versions read these keys alone.
alter table issuer_keys drop constraint issuer_keys_purpose_check;
alter table issuer_keys add constraint issuer_keys_purpose_check
  check (purpose in ('sign', 'sign-rs256', 'pages'));

-- Notifies all processes of a JWT that was revoked: a record with its id.
create trigger issuer_tokens_revoked after insert on issuer_records
  for each row when (new.model = 'RevokedToken') execute function notify_issuer('revoked');
