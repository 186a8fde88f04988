-- The words of a long text take up to half a second. With this cost, PostgreSQL finds them by the index also in a small table, and checks
-- other conditions first, so that texts which a caller may not read take no time of its searches.
alter function plinth_words(regconfig, text) cost 10000;
