-- Events and deliveries are about to be stored in three segments each, so that those that have expired are truncated with
-- their segment instead of being deleted one by one. What is stored becomes the first segment. Its rows are checked by the
-- next migration, which does not block writers.
alter table events add column segment smallint not null default 1;
alter table events add constraint is_first_segment check (segment = 1) not valid;
alter table deliveries add column segment smallint not null default 1;
alter table deliveries add constraint is_first_segment check (segment = 1) not valid;
alter table delivery_bodies add column segment smallint not null default 1;
alter table delivery_bodies add constraint is_first_segment check (segment = 1) not valid;
