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

/** A statement with its `:name` placeholders replaced. The parts come from declarations, never from requests. */
export function fill(text: string, parts: Readonly<Record<string, string>>): string {
  return text.replace(/(?<!:):([a-z_]+)/g, (placeholder, name: string) => parts[name] ?? placeholder);
}
