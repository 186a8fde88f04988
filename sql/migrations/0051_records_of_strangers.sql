-- Counts the records that anybody can have stored before a user is known, and finds the oldest ones.
create index issuer_records_strangers on issuer_records (expires_at)
  where user_id is null and model in ('Session', 'Interaction', 'PushedAuthorizationRequest', 'DeviceCode');

-- Earlier versions stored the sessions of strangers for 14 days.
update issuer_records set expires_at = now() + interval '15 minutes'
where user_id is null and model in ('Session', 'Interaction', 'PushedAuthorizationRequest', 'DeviceCode')
  and expires_at > now() + interval '15 minutes';
