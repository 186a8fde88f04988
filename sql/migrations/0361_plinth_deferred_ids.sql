-- An array of references may wait for several records of an import.
alter table plinth_import_references drop constraint plinth_import_references_pkey;
alter table plinth_import_references add primary key (key, collection, field, id, target);
