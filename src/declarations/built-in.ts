import { readdirSync, readFileSync } from 'node:fs';

/** The folders collections/ and schema/, beside dist/. In a bundle this module is replaced by one with the texts inlined: .ci/bundle.js. */
const FOLDER = new URL('../../../collections/', import.meta.url);
const SCHEMAS = new URL('../../../schema/', import.meta.url);

/** The texts of the declarations that come with the service, by the names of their files, users first. */
export function builtInFiles(): ReadonlyMap<string, string> {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  return new Map(names.sort().map((name) => [name, readFileSync(new URL(name, FOLDER), 'utf8')]));
}

/** The text of a schema in schema/, of declarations or of cases for access rules. */
export function schemaText(name: 'collection' | 'access-test'): string {
  return readFileSync(new URL(`${name}.schema.json`, SCHEMAS), 'utf8');
}
