import { migrationsOn } from './engine.js';

const CREATION =
  /\bcreate (?:or replace )?(?:unlogged |unique )?(?:table|index|function|type|view|sequence) (?:if not exists )?(\w+)(?: on (\w+))?/g;
/** What follows the table in the names that PostgreSQL makes. */
const PARTS = /^_(?:\w+_)?(?:pkey|key|fkey|seq|check|idx\d*)$/;
/** New objects have names with this prefix, so that a migration collides with no collection that exists by then. */
export const OWN_PREFIX = 'plinth_';

interface ServiceObjects {
  readonly names: ReadonlySet<string>;
  readonly tables: ReadonlySet<string>;
}

let read: ServiceObjects | undefined;

/** What the migrations create, besides the tables of built-in collections and their indexes. */
function serviceObjects(): ServiceObjects {
  if (read) return read;
  const texts = migrationsOn('citus').map(({ text }) => text.replace(/^ *--.*$/gm, ''));
  const found = (pattern: RegExp) => texts.flatMap((text) => [...text.matchAll(pattern)]);
  const collections = new Set(
    found(/\bcreate trigger (\w+)_inserted after insert on \1\b/g).map(([, name]) => name!),
  );
  const isOwn = (name: string) => !collections.has(name);
  const tables = found(/\bcreate (?:unlogged )?table (?:if not exists )?(\w+)/g).map(([, name]) => name!);
  const created = found(CREATION).flatMap(([, name, table]) => (isOwn(table ?? '') ? [name!] : []));
  const renamed = found(/\brename to (\w+)/g).map(([, name]) => name!);
  read = {
    names: new Set(['migrations', ...created, ...renamed].filter(isOwn)),
    tables: new Set(['migrations', ...tables].filter(isOwn)),
  };
  return read;
}

/** Whether the service has, or PostgreSQL makes for it, a table, an index, a type or a function of this name. */
export function isServiceObject(name: string): boolean {
  const { names, tables } = serviceObjects();
  const isPart = (table: string) => name.startsWith(table) && PARTS.test(name.slice(table.length));
  return name.startsWith(OWN_PREFIX) || names.has(name) || [...tables].some(isPart);
}

/** The tables of the service that are not collections. */
export const serviceTables = (): readonly string[] => [...serviceObjects().tables];
