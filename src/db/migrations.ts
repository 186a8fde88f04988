import { createHash } from 'node:crypto';
import { type Engine, POSTGRESQL } from '../database-url/engine.js';
import { listSql, readSql } from './sql-files.js';

/** A file of sql/migrations, of sql/citus/migrations, or of the folder `migrations` of a feature. */
export interface Migration {
  readonly name: string;
  readonly text: string;
  /** The SHA-256 of the file as it was added. */
  readonly checksum: string;
}

/** The first file of the baseline. Programs that do not know it had migrations with smaller numbers. */
export const BASELINE = '0200_plinth_records.sql';
/** The migration that has distributed a database. */
export const DISTRIBUTION = '0210_plinth_distribution.sql';

/**
 * Checksums of migrations that were corrected later, with the same effect where they were applied, and those of the first files, which
 * other programs know. 0406 changed tables of services in other schemas.
 */
export const CORRECTED: Readonly<Record<string, string>> = {
  a0d99c6e10546162fce61fe7e649f9a5ba5c2adbfdf0d7259227119ba1af79fb:
    'e8f326b65c0405c1561bfb35abc26c68c3e96be204b02ca918adb813e302a4ce',
};

const MIGRATION = /^(citus\/migrations|migrations|features\/[\w-]+\/migrations)\/(\d{4}_\w+\.sql)$/;

/** The place of a migration below sql/. */
interface Place {
  readonly folder: string;
  readonly name: string;
}

/** The migrations of each engine, whose files a process reads once. */
const read = new Map<Engine, readonly Migration[]>();

/** The migrations of an engine in their order, those of all features included: a service may turn a feature on at any time. */
export function migrationsOn(engine: Engine): readonly Migration[] {
  const found = read.get(engine) ?? readMigrations(engine);
  read.set(engine, found);
  return found;
}

function readMigrations(engine: Engine): Migration[] {
  return inOrder(listSql(), engine).map(({ folder, name }) => {
    const text = readSql(`${folder}/${name}`);
    const checksum = createHash('sha256').update(text).digest('hex');
    return { name, text, checksum: CORRECTED[checksum] ?? checksum };
  });
}

/**
 * The migrations of an engine among files of sql/, by their numbers. Throws TypeError for two with one number, and for one of
 * a feature with a number of the baseline.
 */
export function inOrder(files: readonly string[], engine: Engine): Place[] {
  const numbers = new Map<string, string>();
  const places = files.flatMap((file): Place[] => {
    const [, folder = '', name = ''] = MIGRATION.exec(file) ?? [];
    if (name === '') return [];
    const number = name.slice(0, 4);
    const other = numbers.get(number);
    if (other !== undefined) throw new TypeError(`${file} and ${other} have the same number`);
    numbers.set(number, file);
    if (folder.startsWith('features/') && number < '0300')
      throw new TypeError(`${file}: the migrations of features begin with 0300`);
    return folder.startsWith('citus') && !engine.isDistributed ? [] : [{ folder, name }];
  });
  return places.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The name of the last migration of this version. */
export function newestMigration(): string {
  return migrationsOn(POSTGRESQL).at(-1)!.name;
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
