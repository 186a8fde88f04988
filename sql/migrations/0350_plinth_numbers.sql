-- The last number of each series (x-set next): of the records of one parent, or of a collection, whose parent is the nil UUID.
-- A statement that draws numbers locks the row until its transaction ends, so that none is lost.
create table plinth_numbers (
  collection text not null,
  field text not null,
  parent uuid not null,
  last bigint not null,
  -- How many numbers the last statement drew.
  drawn integer not null,
  primary key (collection, field, parent)
);
