-- Work on the documents of a collection besides that of the present plan, as JSON text. `repeat`: it is done, and is repeated
-- for what services with the former declaration wrote meanwhile. `offer`: it loses values, and waits for consent.
create table plinth_document_work (
  collection text not null,
  work text not null,
  state text not null check (state in ('repeat', 'offer')),
  primary key (collection, work)
);
