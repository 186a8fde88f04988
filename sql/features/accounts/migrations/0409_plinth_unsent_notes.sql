-- The log of an account has its last 50 changes, and older ones whose note is still to be written, for as long as it would be sent.
create or replace function plinth_log_change(changed uuid, name text, address text) returns void language sql as $$
  insert into plinth_account_log (user_id, change, recipient)
  select changed, name, case when count(*) < 3 then address end
  from plinth_account_log where user_id = changed and change = name and at > now() - interval '1 hour';
  delete from plinth_account_log
  where user_id = changed and (recipient is null or at <= now() - interval '1 day')
    and id <= (select id from plinth_account_log where user_id = changed order by id desc offset 50 limit 1);
$$;
