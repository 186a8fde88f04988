-- The caller that created a ticket, so that one caller cannot take all tickets.
alter table event_tickets add column caller text;
create index event_tickets_caller on event_tickets (caller);
