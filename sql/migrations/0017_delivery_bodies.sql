-- One body for all deliveries of an event: a copy for each webhook would multiply what a write stores. Deliveries from
-- before this step have bodies of their own.
create table delivery_bodies (
  event_id text primary key,
  body text not null
);
alter table deliveries alter body drop not null;
create index deliveries_event on deliveries (event_id);
