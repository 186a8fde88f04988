import { migrationsOn } from './engine.js';

const TABLE = /\bcreate (?:unlogged )?table (?:if not exists )?(\w+)/g;

/** The tables of the service, besides those of collections. */
export function serviceTables(): readonly string[] {
  const texts = migrationsOn('citus').map(({ text }) => text.replace(/^ *--.*$/gm, ''));
  const found = (pattern: RegExp) =>
    texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => name!));
  const collections = new Set(found(/\bcreate trigger (\w+)_inserted after insert on \1\b/g));
  return ['migrations', ...new Set(found(TABLE))].filter((name) => !collections.has(name));
}
