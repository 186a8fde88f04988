-- Notifies all processes when an operator changes what users may do: tokens that are cached may have lost scopes.
create trigger user_scopes_changed after insert or update or delete on user_scopes
  for each row execute function notify_issuer('revoked');
