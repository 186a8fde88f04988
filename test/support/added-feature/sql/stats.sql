-- name: add
insert into plinth_stats default values;

-- name: sum
select count(*)::integer as requests from plinth_stats;
