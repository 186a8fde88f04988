-- Notes links that the user or a reset of the password has removed.
create trigger plinth_log_old_links after delete on plinth_user_links
  for each row execute function plinth_log_account('issuer-removed');
