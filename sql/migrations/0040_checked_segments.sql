alter table events validate constraint is_first_segment;
alter table deliveries validate constraint is_first_segment;
alter table delivery_bodies validate constraint is_first_segment;
