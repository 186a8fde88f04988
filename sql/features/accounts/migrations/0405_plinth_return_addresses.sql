-- The page of an application from which a person came, to which the page of the message leads in the end.
alter table plinth_mail add column return_to text;
