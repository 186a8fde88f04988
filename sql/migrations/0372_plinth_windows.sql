-- A change in a window gives the table of a collection another name, and leaves a fence under the name that it had: statements of
-- services with the former declaration fail there.

-- The collection of a table: `books` of `books$2`, the name after one window.
create function plinth_collection_of(relation name) returns text language sql immutable parallel safe
  return regexp_replace(relation, '\$\d+$', '');

-- The condition of a fence. It is immutable, so that it fails when a statement is planned, before there is a first row. SQLSTATE
-- 55000 is the one of a write to a view, for which services respond 503.
create function plinth_moved(collection text) returns boolean language plpgsql immutable as $$
begin
  raise exception 'the collection % has another declaration: restart the service with that declaration', collection
    using errcode = 'object_not_in_prerequisite_state';
end $$;

-- `check`: services with the former declaration may have written records that violate the present one. `window`: a change in a
-- window of the collection has begun, to a declaration whose text has this hash.
alter table plinth_document_work
  drop constraint plinth_document_work_state_check,
  add constraint plinth_document_work_state_check check (state in ('repeat', 'offer', 'due', 'check', 'window'));
