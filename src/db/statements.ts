import type { Engine } from '../database-url/engine.js';
import { nameStatement } from '../telemetry/wait-tracking.js';
import { readSql } from './sql-files.js';

/** The named statements of a file of sql/, without comments. Throws when a name is missing or repeated. */
export function readStatements(file: string): ReadonlyMap<string, string> {
  const statements = new Map<string, string>();
  const sections = readSql(file)
    .split(/^-- name: /m)
    .slice(1);
  for (const section of sections) {
    const [heading = '', ...lines] = section.split('\n');
    const name = /^\w+/.exec(heading)?.[0] ?? '';
    if (name === '' || statements.has(name))
      throw new Error(`${file}: statement "${heading}" has no name of its own`);
    const text = lines
      .filter((line) => !line.startsWith('--'))
      .join('\n')
      .trim()
      .replace(/;$/, '');
    nameStatement(text, name);
    statements.set(name, text);
  }
  return statements;
}

const ofEngines = new Map<string, ReadonlyMap<string, string>>();

/** The named statements of a file of sql/. Those that differ on an engine are in a file of the same name in its folder. */
export function statementsOn({ folder }: Engine, file: string): ReadonlyMap<string, string> {
  const key = `${folder} ${file}`;
  const known = ofEngines.get(key);
  if (known) return known;
  const statements = readStatements(file);
  const all = folder
    ? new Map([...statements, ...readStatements(`${folder}${file.replace('features/', '')}`)])
    : statements;
  ofEngines.set(key, all);
  return all;
}

/** The statements of a file of sql/ by their names, which the compiler knows. */
export type Statements<Name extends string> = Readonly<Record<Name, string>>;

/** The statements of a file of sql/. Throws when it has others than these, or lacks one. */
export function statements<Name extends string>(file: string, names: readonly Name[]): Statements<Name> {
  const found = readStatements(file);
  const listed = new Set<string>(names);
  const differing = [
    ...[...listed].filter((name) => !found.has(name)),
    ...[...found.keys()].filter((name) => !listed.has(name)),
  ];
  if (differing.length > 0)
    throw new TypeError(`${file}: the names listed and those in the file differ: ${differing.join(', ')}`);
  return Object.fromEntries(found) as Statements<Name>;
}

/** A statement with its `:name` placeholders replaced. The parts come from declarations, never from requests. */
export function fill(text: string, parts: Readonly<Record<string, string>>): string {
  return text.replace(/(?<!:):([a-z_]+)/g, (placeholder, name: string) => parts[name] ?? placeholder);
}

/** An array of texts or numbers in PostgreSQL's text format. Each type of elements reads them in quotation marks. */
export const arrayLiteral = (values: readonly (string | number | null)[]): string =>
  `{${values.map(arrayElement).join(',')}}`;

/** An element of such an array. Most have nothing to escape, which a test finds out sooner than a replacement. */
function arrayElement(value: string | number | null): string {
  if (value === null) return 'null';
  const text = String(value);
  return `"${/["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`;
}

/** A name in statements. */
export const quotedName = (name: string): string =>
  /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
