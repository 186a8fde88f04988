import { readStatements } from './statements.js';

/** The server: one PostgreSQL, or a Citus cluster, which distributes the records of collections over its nodes. */
export type Engine = 'postgresql' | 'citus';

const read = new Map<string, ReadonlyMap<string, string>>();

/** The named statements of a file of sql/. Those that differ on Citus are in a file of the same name in sql/features/citus. */
export function statementsOn(engine: Engine, file: string): ReadonlyMap<string, string> {
  const key = `${engine} ${file}`;
  const known = read.get(key);
  if (known) return known;
  const statements = readStatements(file);
  const all =
    engine === 'citus'
      ? new Map([...statements, ...readStatements(`features/citus/${file.replace('features/', '')}`)])
      : statements;
  read.set(key, all);
  return all;
}
