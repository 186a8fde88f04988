-- A change of a webhook can be conditional on its version (If-Match), as that of a record.
alter table webhooks add column version integer not null default 1;
