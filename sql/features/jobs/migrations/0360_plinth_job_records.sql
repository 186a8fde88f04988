-- The records in the result of an export of a collection with access rules: a download checks that its caller may read them still.
create table plinth_job_records (
  job uuid not null references plinth_jobs on delete cascade,
  place integer not null,
  -- The fields that these records have in the result; null: all.
  fields text[],
  ids uuid[] not null,
  primary key (job, place)
);
