-- Invitations end as before, also in collections with fields such as `collection`, `target` and `value`: the tables have columns of
-- these names, but none whose name has a dollar sign.
create or replace function plinth_end_superseded() returns trigger language plpgsql as $$
declare
  collection$ constant text := plinth_collection_of(tg_table_name);
  invited$ text[];
begin
  select array_agg(users.id::text) into invited$
  from plinth_invitations
  join plinth_users as users using (email)
  where outcome is null and collection$ = any (collections);
  if invited$ is null then
    return null;
  end if;
  update plinth_invitations as invitation set outcome = 'withdrawn'
  from plinth_users as users, (
    select member.value as user_id, changed.doc
    from changed cross join lateral jsonb_each_text(changed.doc::jsonb) as member
    where member.value = any (invited$)
  ) as removed
  where outcome is null and users.email = invitation.email and users.id::text = removed.user_id
    and exists (
      select from unnest(targets) as target
      where split_part(target, ' ', 1) = collection$
        and not exists (select from unnest((string_to_array(target, ' '))[2:]) as id where strpos(removed.doc, id) = 0)
    );
  return null;
end $$;

create or replace function plinth_end_moved() returns trigger language plpgsql as $$
declare
  collection$ constant text := plinth_collection_of(tg_table_name);
begin
  -- Most changes leave all ids of a record.
  if not exists (
    select from changed join present using (id)
    cross join lateral jsonb_each_text(changed.doc::jsonb) as member
    where length(member.value) = 36 and strpos(present.doc, member.value) = 0
  ) then
    return null;
  end if;
  update plinth_invitations as invitation set outcome = 'withdrawn'
  from plinth_users as users
  where outcome is null and users.email = invitation.email and collection$ = any (collections)
    and exists (
      select from changed join present using (id)
      cross join unnest(invitation.targets) as target$
      where split_part(target$, ' ', 1) = collection$
        and not exists (
          select from unnest((string_to_array(target$, ' '))[2:] || users.id::text) as named where strpos(changed.doc, named) = 0
        )
        and exists (
          select from unnest((string_to_array(target$, ' '))[2:] || users.id::text) as named where strpos(present.doc, named) = 0
        )
    );
  return null;
end $$;
