import { escapeToken, isObject, type JsonObject } from '../json.js';
import { unsetFields } from './contradiction-faults.js';
import type { Declaration, DeclarationFault } from './declaration.js';
import { isGiven } from './field-keywords.js';
import { namesAt } from './impossible-members.js';
import { inPlaceOf } from './keyword-faults.js';
import type { Declarations } from './read-declarations.js';
import { SchemaFiles, type SchemaNode } from './schema-files.js';
import { membersOf } from './value-bounds.js';

/**
 * Requirements that hold for some records, of fields that not every request can give: the service accepts such a declaration,
 * and refuses requests that its author may expect to work.
 */
export function requirementWarnings(declarations: Declarations): DeclarationFault[] {
  const { collections, shared } = declarations;
  const files = new SchemaFiles([
    ...collections.map(({ name, schema }): [string, object] => [`${name}.json`, schema]),
    ...shared,
  ]);
  const paths = new Map(collections.map(({ name, file }) => [`${name}.json`, file]));
  return [
    ...collections.flatMap(({ name }) => {
      const record = files.root(`${name}.json`);
      const reasons = limitedFields(record);
      return [...conditional(record, files)].flatMap(({ node, keyword, field }) => {
        const reason = reasons.get(field);
        return reason === undefined
          ? []
          : [{ file: paths.get(node.file) ?? node.file, pointer: `${node.pointer}/${keyword}`, reason }];
      });
    }),
    ...firstRecords(collections),
  ];
}

/** The consequence of a requirement, for each field that not every request can give. */
function limitedFields(record: SchemaNode): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [name, keyword] of unsetFields(record))
    found.set(
      name,
      `requires "${name}", which no request can set (${keyword}): no record that needs it can be created by a request`,
    );
  for (const [name, field] of Object.entries(membersOf(record.schema.properties))) {
    if (!isObject(field) || found.has(name)) continue;
    if (isGiven(field, 'writeOnly'))
      found.set(
        name,
        `requires "${name}", which is never returned (writeOnly): each patch of a record that needs it must give it again`,
      );
    if (field['x-on-delete'] === 'null')
      found.set(
        name,
        `requires "${name}", which the deletion of another record removes (x-on-delete): then each patch of the record must give it again`,
      );
  }
  return found;
}

interface Requirement {
  readonly node: SchemaNode;
  readonly keyword: string;
  readonly field: string;
}

const CONDITIONS: ReadonlySet<string> = new Set(['then', 'else', 'dependentSchemas']);

/** The members that a record needs only sometimes, unless no request can set what demands them either. */
function* conditional(
  node: SchemaNode,
  files: SchemaFiles,
  isConditional = false,
  seen = new Set<JsonObject>(),
): Generator<Requirement> {
  if (seen.has(node.schema)) return;
  seen.add(node.schema);
  const unset = unsetFields(node);
  for (const [name, names] of Object.entries(membersOf(node.schema.dependentRequired)))
    if (!unset.has(name))
      for (const each of namesAt(`dependentRequired/${escapeToken(name)}`, names))
        yield { node, keyword: each.keyword, field: each.name };
  if (isConditional)
    for (const each of namesAt('required', node.schema.required))
      yield { node, keyword: each.keyword, field: each.name };
  for (const { keyword, node: each } of inPlaceOf(node, files)) {
    if (keyword === 'not' || keyword === 'if' || keyword === 'anyOf' || keyword === 'oneOf') continue;
    yield* conditional(each, files, isConditional || CONDITIONS.has(keyword), seen);
  }
}

/** The references because of which no request can create a first record: its record would have to exist before. */
function firstRecords(collections: readonly Declaration[]): DeclarationFault[] {
  const needed = new Map(collections.map((each) => [each.name, neededReferences(each)]));
  const creatable = new Set<string>();
  const isCreatable = (name: string) =>
    (needed.get(name) ?? []).every(({ to }) => creatable.has(to) || !needed.has(to));
  for (let before = -1; before < creatable.size; ) {
    before = creatable.size;
    for (const { name } of collections) if (isCreatable(name)) creatable.add(name);
  }
  return collections
    .filter(({ name, schema }) => !creatable.has(name) && schema['x-collection']?.ids !== 'client')
    .flatMap(({ name, file }) =>
      (needed.get(name) ?? [])
        .filter(({ to }) => !creatable.has(to))
        .map(({ field, to }) => ({
          file,
          pointer: `/properties/${escapeToken(field)}/x-references`,
          reason: `no request can create the first record: it needs one of ${to}, which needs another one in turn`,
        })),
    );
}

/** The references that each record has. */
function neededReferences({ schema: { properties, required = [] } }: Declaration) {
  return Object.entries(properties).flatMap(([field, rules]) => {
    const { 'x-references': to, type } = rules;
    const mayBeNull = Array.isArray(type) && type.includes('null');
    return to !== undefined && required.includes(field) && !mayBeNull ? [{ field, to }] : [];
  });
}
