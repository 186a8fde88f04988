import { createHash } from 'node:crypto';
import type { Engine } from './engine.js';
import { REPLACED } from './replaced-migrations.js';
import { listMigrations, readSql } from './sql-files.js';

/** A file of sql/migrations, or of sql/citus/migrations. */
export interface Migration {
  readonly name: string;
  readonly text: string;
  /** The SHA-256 of the file. */
  readonly checksum: string;
  /** The migrations of earlier versions that the baseline replaces, and their checksums; none: a later migration. */
  readonly replaced: Readonly<Record<string, string>>;
  /** Whether the baseline is complete with this file. */
  readonly isLastOfBaseline: boolean;
}

/** The migration that has distributed a database: one of those that are replaced. */
export const DISTRIBUTION = '0034_distribution.sql';

/** The files of a baseline; later migrations have later numbers. */
const BASELINE = /^02\d\d_/;
const NOTHING = {};

/** The migrations of an engine in their order. Those of Citus follow the others. */
export function migrationsOn(engine: Engine): Migration[] {
  const folders = engine === 'citus' ? ['migrations', 'citus/migrations'] : ['migrations'];
  return folders.flatMap(migrationsIn).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function migrationsIn(folder: string): Migration[] {
  const names = listMigrations(folder)
    .filter((name) => /^\d{4}_\w+\.sql$/.test(name))
    .sort();
  const lastOfBaseline = names.findLast((name) => BASELINE.test(name));
  return names.map((name) => {
    const text = readSql(`${folder}/${name}`);
    return {
      name,
      text,
      checksum: createHash('sha256').update(text).digest('hex'),
      replaced: BASELINE.test(name) ? REPLACED[folder]! : NOTHING,
      isLastOfBaseline: name === lastOfBaseline,
    };
  });
}

/** The name of the last migration of this version. */
export function newestMigration(): string {
  return migrationsOn('postgresql').at(-1)!.name;
}

/**
 * The migration of an earlier version that a database lacks before the baseline fits it. Undefined: the database has all
 * that the baseline replaces, or none of them.
 */
export function lackingReplaced(
  { replaced }: Migration,
  applied: ReadonlyMap<string, string>,
): string | undefined {
  const names = Object.keys(replaced);
  if (!names.some((name) => applied.has(name))) return undefined;
  return names.find((name) => applied.get(name) !== replaced[name]);
}

/** Whether a database has the schema of a baseline by the migrations that it replaces. */
export function isInPlace({ replaced }: Migration, applied: ReadonlyMap<string, string>): boolean {
  const names = Object.keys(replaced);
  return names.length > 0 && names.every((name) => applied.get(name) === replaced[name]);
}

/** The tables of the service, besides those of collections, whose names have the placeholder of their schema. */
export function serviceTables(): readonly string[] {
  const texts = migrationsOn('citus').map(({ text }) => text.replace(/^ *--.*$/gm, ''));
  const tables = texts.flatMap((text) => [...text.matchAll(/\bcreate (?:unlogged )?table (\w+)/g)]);
  return ['migrations', ...new Set(tables.map(([, name]) => name!))];
}

/** The name of the schema of the tables of collections, as migrations need it. */
export interface SchemaNames {
  /** An identifier. */
  readonly collections: string;
  /** A literal. */
  readonly collections_text: string;
  /** An identifier in a literal that is the first argument of format(). */
  readonly collections_format: string;
}

/** The query of the names for a schema, the parameter. */
export const SCHEMA_NAMES = `select quote_ident($1) as collections, quote_literal($1) as collections_text,
  replace(replace(quote_ident($1), '%', '%%'), '''', '''''') as collections_format`;

/** The text of a migration with the names in place of the placeholders. */
export const withSchemaNames = (text: string, names: SchemaNames): string =>
  text.replace(/:(collections(?:_text|_format)?)\b/g, (_, name: keyof SchemaNames) => names[name]);
