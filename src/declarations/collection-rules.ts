import type { JsonObject } from '../json.js';
import type { Declaration, DeclaredSchema } from './declaration.js';
import { columnOf, declaredReference, hasColumn } from './declared-column.js';
import { collectionNames, formerNameFault } from './former-name-faults.js';
import { isDisplayed } from './resource-of.js';
import { type Rule, rule } from './rule.js';

/** A collection, and all of them. */
export interface CollectionPlace {
  readonly name: string;
  readonly schema: JsonObject;
  readonly record: DeclaredSchema;
  readonly collections: readonly Declaration[];
  /** The first segments of the service's own paths; undefined: names are not compared with them. */
  readonly ownPaths: ReadonlySet<string> | undefined;
}

/** Rules about the name of a collection, which is the name of its file. */
export const NAME_RULES: readonly Rule<Pick<CollectionPlace, 'name' | 'schema' | 'ownPaths'>>[] = [
  rule(
    '',
    'the name of the file must be that of a collection: a-z, 0-9 and _, up to 40 characters',
    ({ name }) => !/^[a-z][a-z0-9_]{0,39}$/.test(name),
  ),
  rule('', ({ name, ownPaths }) =>
    ownPaths?.has(name) ? `/${name} is a path of the service itself` : undefined,
  ),
  rule('', 'PostgreSQL reserves names that begin with pg_', ({ name }) => name.startsWith('pg_')),
];

/** The rule about a list called history, below records whose own history is at its path. */
export const PATH_RULES: readonly Rule<
  Pick<CollectionPlace, 'name' | 'record' | 'schema' | 'collections'>
>[] = [
  rule(
    '/x-collection/nested',
    ({ record: { properties = {} }, collections }, nested) => {
      const references = Object.entries(properties).filter(([field, rules]) => {
        return rules?.['x-references'] !== undefined && (nested === true || nested === field);
      });
      const parent = collections.find(({ name }) => name === references[0]?.[1]['x-references']);
      const hasHistory = parent?.schema['x-collection']?.history;
      return hasHistory
        ? `/${parent.name}/<id>/history has the changes of the record: see history`
        : undefined;
    },
    ({ name }, nested) => name === 'history' && nested,
  ),
];

/** Rules about what x-collection says of fields. */
export const COLLECTION_RULES: readonly Rule<CollectionPlace>[] = [
  rule('/x-collection/nested', 'there is no such field with x-references', ({ record }, nested) => {
    const referring = Object.entries(record.properties).filter(([, field]) => field['x-references']);
    return nested && !referring.some(([name]) => nested === true || nested === name);
  }),
  rule('/x-collection/language', 'no field has x-search: "words"', ({ record }, language) => {
    return (
      language !== undefined && Object.values(record.properties).every((each) => each['x-search'] !== 'words')
    );
  }),
  rule(
    '/x-collection/display',
    'must name a field with texts that everyone can read',
    ({ record }, display) => {
      const field = record.properties[String(display)];
      return display !== undefined && !(field && isDisplayed(field));
    },
  ),
  rule('/x-collection/unique/*', 'another key has the same fields', ({ record }, key, [index]) => {
    const fields = (each: unknown) =>
      JSON.stringify((Array.isArray(each) ? each : (each as { fields: string[] }).fields).toSorted());
    const before = record['x-collection']!.unique!.slice(0, Number(index));
    return before.some((other) => fields(other) === fields(key));
  }),
  rule(
    ['/x-collection/unique/*/*', '/x-collection/unique/*/fields/*'],
    ({ record }, name) => keyFault(record.properties, String(name)),
    // A key with a code is an object.
    (_, name, [__, member]) => typeof name === 'string' && /^\d+$/.test(member!),
  ),
  rule('/x-collection/was', ({ name, collections }, was) =>
    formerNameFault({ name, was: was as string | undefined }, collectionNames(collections)),
  ),
];

/** Why a field cannot be part of a unique key. */
function keyFault(properties: DeclaredSchema['properties'], name: string): string | undefined {
  const field = Object.hasOwn(properties, name) ? properties[name]! : undefined;
  if (field === undefined) return `there is no field ${name}`;
  if (field.writeOnly) return 'a field that is never returned cannot be unique';
  if (!field['x-index'] && !field['x-unique'] && !declaredReference(field))
    return `the field ${name} needs x-index, x-unique or x-references`;
  const column = hasColumn(field) && columnOf(name, field);
  return column && 'type' in column && column.type.endsWith('[]') ? 'an array cannot be unique' : undefined;
}
