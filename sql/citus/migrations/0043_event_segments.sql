-- Functions write the events of distributed collections, to the current segment.
drop function attach_collection;
drop function create_event_function;

create or replace function note_records(collection text, operation text, records changed_record[]) returns void language plpgsql as $$
begin
  delete from two_phase_commit where id = 1;
  if current_setting('plinth.events', true) is distinct from 'off' then
    insert into events (segment, owner, record, version, type, data)
    select (select current from event_segment), owner, id, version, collection || '.' || operation,
      case when operation <> 'deleted' then doc end
    from unnest(records);
  end if;
  if operation <> 'updated' then
    perform note_changes(
      collection, array(select moment_of(id) from unnest(records)), case operation when 'created' then 1 else -1 end
    );
  end if;
  if operation = 'deleted' and current_setting('plinth.tombstones', true) = 'on' then
    insert into tombstones (id) select id from unnest(records) on conflict do nothing;
  end if;
end $$;
