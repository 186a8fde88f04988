-- A reset of the password removes links by another trigger's work, and notes the password.
create trigger plinth_log_old_links after delete on plinth_user_links
  for each row when (pg_trigger_depth() = 0) execute function plinth_log_account('issuer-removed');
