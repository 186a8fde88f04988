import { readSql } from '../../../src/db/sql-files.js';

const FILES = ['read', 'write', 'list'];

/** The headings of the statements, by name; those of sql/features/citus replace others. */
export const HEADINGS: ReadonlyMap<string, string> = new Map(
  ['', 'features/citus/'].flatMap((folder) =>
    FILES.flatMap((file) =>
      [...readSql(`${folder}collection/${file}.sql`).matchAll(/^-- name: (\w+)(.*)$/gm)].map(
        ([, name, rest]) => [name!, rest!] as const,
      ),
    ),
  ),
);

/** Statements of which the shards that they use are examined. */
export const EXAMINED = [
  ...['get', 'get_large', 'exists', 'lock'],
  ...['create', 'create_many', 'replace', 'replace_many', 'remove', 'remove_if'],
  ...['page_of_parent', 'page_first', 'page_found', 'page_counted'],
  ...['page_matching', 'page_matching_short'],
];

/** The other statements, by the reason why their shards are not examined. */
export const NOT_EXAMINED: Readonly<Record<string, readonly string[]>> = {
  'about all that is selected, or about ids that a page has': [
    ...['stream', 'stream_matching', 'ids', 'referring', 'referring_readable', 'referring_counts'],
  ],
  'of pages that other statements serve on Citus': ['page_slice', 'page_of_callers'],
  'of declarations that Citus refuses: ids of clients, numbers': [
    ...['create_with_id', 'deleted', 'create_numbered', 'lock_numbers'],
  ],
  'that Citus does not run, since it deletes records one by one': ['remove_many'],
  'locks of the database, which read no table': ['lock_key'],
};
