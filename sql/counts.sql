-- Adds up the deltas of one collection that are committed and that nobody else is adding up. Readers see
-- either the rows before or the one row after: the sum is the same.
-- name: fold ($1 collection)
with taken as (
  select ctid from counts where collection = $1 limit 10000 for update skip locked
), folded as (
  delete from counts where ctid = any (array(select ctid from taken)) returning delta
)
insert into counts (collection, delta)
select $1, sum(delta) from folded having count(*) > 0;

-- name: unfolded
select collection from counts group by collection having count(*) > 64;
