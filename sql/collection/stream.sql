-- Whole lists leave by COPY: one statement, so one snapshot, and no row becomes an object on its way. The binary format
-- passes a document as it is; CSV would examine each of its characters. COPY takes no parameters, so what restricts a
-- stream is a setting of its transaction, never text of the statement.
--     the limit and offset of a streamed page

-- name: stream
copy (select doc from :table order by :by)
to stdout (format binary);

-- name: stream_of_parent (plinth.parent)
copy (select doc from :table where :parent = current_setting('plinth.parent')::uuid order by :by)
to stdout (format binary);

-- name: stream_matching (plinth.pattern)
copy (
  with match as materialized (
    select id:keys from :table where :search like lower(current_setting('plinth.pattern'))
  )
  select record.doc from match join :table as record on record.id = match.id order by :match_order
)
to stdout (format binary);

-- name: stream_matching_short (plinth.term)
copy (
  with match as materialized (
    select id:keys from :table
    where grams(:search) @> array[left(lower(current_setting('plinth.term')), 2)]
      and strpos(:search, lower(current_setting('plinth.term'))) > 0
  )
  select record.doc from match join :table as record on record.id = match.id order by :match_order
)
to stdout (format binary);
