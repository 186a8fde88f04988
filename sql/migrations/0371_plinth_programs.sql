-- What programs before and after this one find in the database.

-- Each program reads this row at its start. A migration whose tables the version before cannot serve raises the version.
insert into migrations (name, checksum) values ('0000_oldest_program', '0.1.0');

-- Programs from before the baseline do not find the tables of collections, and would make others of the same names. They compare
-- the text of each file that they have with this table, and refuse a database where one differs.
insert into migrations (name, checksum) values ('0001_counts.sql', 'replaced by 0200_plinth_records.sql')
on conflict (name) do update set checksum = excluded.checksum;
