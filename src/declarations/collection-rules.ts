import { isObject, type JsonObject } from '../json.js';
import { builtInFiles } from './built-in.js';
import type { Declaration, DeclaredSchema } from './declaration.js';
import { columnOf, declaredReference, hasColumn } from './declared-column.js';
import { collectionNames, formerNameFault } from './former-name-faults.js';
import { CREDENTIALS, SIGN_IN_FILE } from './read-declarations.js';
import { invitedField, isDisplayed } from './resource-of.js';
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

/** Rules about what x-collection says of fields. */
export const COLLECTION_RULES: readonly Rule<CollectionPlace>[] = [
  rule('/x-collection/nested', 'there is no such field with x-references', ({ record }, nested) => {
    const referring = Object.entries(record.properties).filter(([, field]) => field['x-references']);
    return nested && !referring.some(([name]) => nested === true || nested === name);
  }),
  rule(
    '/x-collection/nested',
    '/<parent>/<id>/history has the changes of a record: give the collection another name',
    ({ name }, nested) => name === 'history' && nested,
  ),
  rule(
    '/x-collection/display',
    'must name a field with texts that everyone can read, or with a reference to one record',
    ({ record }, display) => {
      const field = record.properties[String(display)];
      return display !== undefined && !(field && (isDisplayed(field) || field['x-references']));
    },
  ),
  rule(
    '/x-collection/invite',
    'needs a field with x-references to the users that sign in, and no field that is writeOnly',
    ({ record }, invite) =>
      invite && (!invitedField(record) || Object.values(record.properties).some((field) => field.writeOnly)),
  ),
  rule(
    ['/x-collection/unique/*/*', '/x-collection/unique/*/fields/*'],
    (_, name) =>
      `${name} must be a field with x-index, x-unique or x-references that is no array and is returned`,
    // A key with a code is an object.
    ({ record }, name, [, member]) =>
      typeof name === 'string' && /^\d+$/.test(member!) && !mayBeInKey(record.properties, name),
  ),
  rule('/x-collection/was', ({ name, collections }, was) =>
    formerNameFault({ name, was: was as string | undefined }, collectionNames(collections)),
  ),
];

function mayBeInKey(properties: DeclaredSchema['properties'], name: string): boolean {
  const field = Object.hasOwn(properties, name) ? properties[name]! : {};
  const column = hasColumn(field) && columnOf(name, field);
  const isIndexed = field['x-index'] || field['x-unique'] || declaredReference(field);
  return Boolean(
    isIndexed && !field.writeOnly && !(column && 'type' in column && column.type.endsWith('[]')),
  );
}

/** The keywords that a file may not change of the fields by which people sign in, and of their credentials. */
const FIXED = {
  name: ['type', 'writeOnly', 'x-normalize', 'x-references', 'x-import-only'],
  credential: ['type', 'writeOnly', 'readOnly', 'x-was', 'x-index', 'x-unique', 'x-search', 'x-references'],
  hash: ['format', 'x-import-only'],
};

/** Rules of the collection with which people sign in: others would publish a credential, or let two users sign in by one name. */
export function signInRules(): Rule<CollectionPlace>[] {
  const { properties } = JSON.parse(builtInFiles().get(SIGN_IN_FILE)!) as {
    properties: Record<string, JsonObject>;
  };
  const rulesOf = (field: string, keywords: readonly string[]): Rule<CollectionPlace>[] => [
    rule(`/properties/${field}`, 'must be an object: users sign in by it', (_, value) => !isObject(value)),
    ...keywords.map((keyword) => {
      const given = JSON.stringify(properties[field]![keyword] ?? false);
      return rule<CollectionPlace>(
        `/properties/${field}/${keyword}`,
        `must be ${given}: users sign in by it`,
        (_, value) => JSON.stringify(value ?? false) !== given,
      );
    }),
    rule(
      `/properties/${field}/maxLength`,
      `must be a number up to ${properties[field]!.maxLength}: users sign in by it`,
      (_, value) => !(Number(value) <= Number(properties[field]!.maxLength)),
    ),
  ];
  return [
    ...CREDENTIALS.flatMap((field) =>
      rulesOf(field, field === 'password_hash' ? [...FIXED.credential, ...FIXED.hash] : FIXED.credential),
    ),
    ...rulesOf('email', FIXED.name),
    rule('/properties/email/x-unique', 'must be set: users sign in by it', (_, value) => !value),
  ];
}
