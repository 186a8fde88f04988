import type { Resource } from '../collection/resource.js';
import type { Declaration } from '../declarations/declaration.js';
import { escapeToken, isObject, type Json, type JsonObject } from '../json.js';
import type { PendingWork } from './catalog.js';
import { type DocumentWork, lockBatch, quoted, type SchemaStep } from './step.js';

type Schema = Declaration['schema'];

export const isDeclared = (schema: Schema | undefined, field: string): boolean =>
  schema !== undefined && Object.hasOwn(schema.properties, field);

/** A step that changes documents. Unless the table is fenced, the step is repeated for what running services write meanwhile. */
export function documentStep(
  title: string,
  work: DocumentWork,
  isFenced: boolean,
  sql: readonly string[] = [],
): SchemaStep {
  return {
    title,
    locks: lockBatch,
    work,
    sql: [
      ...sql,
      ...(isFenced
        ? []
        : [
            `insert into plinth_document_work values (${quoted(work.collection)}, ${quoted(JSON.stringify(work))}, 'repeat') on conflict (collection, work) do update set state = excluded.state`,
          ]),
    ],
  };
}

/** Fields with x-was that the applied declaration knows by their former names. */
export function renameFields(
  { name, schema }: Declaration,
  former: Schema | undefined,
  isFenced: boolean,
): SchemaStep[] {
  return Object.entries(schema.properties).flatMap(([to, { 'x-was': from }]) =>
    from === undefined || !isDeclared(former, from) || isDeclared(former, to)
      ? []
      : [
          documentStep(
            `Rename the field ${from} of ${name} to ${to} in the documents, 1,000 at a time`,
            { kind: 'rename', collection: name, from, to },
            isFenced,
            [
              `update plinth_numbers set field = ${quoted(to)} where collection = ${quoted(name)} and field = ${quoted(from)}`,
            ],
          ),
        ],
  );
}

/** Fields, and members of objects, that become required and have a default. */
export function defaultFields(
  { name, schema }: Declaration,
  former: Schema | undefined,
  isFenced: boolean,
): SchemaStep[] {
  if (former === undefined) return [];
  const values = Object.fromEntries(newDefaults(schema as JsonObject, former as JsonObject));
  const names = Object.keys(values).map((pointer) => name + pointer.replace('/', '.'));
  if (names.length === 0) return [];
  return [
    documentStep(
      `Give ${names.join(', ')} ${names.length === 1 ? 'its default' : 'their defaults'} in the documents without a value, 1,000 at a time`,
      { kind: 'default-within', collection: name, values },
      isFenced,
    ),
  ];
}

/** Fields with other steps of x-normalize: queries compare what these make of a text. */
export function normalizeFields(
  { name, schema }: Declaration,
  former: Schema | undefined,
  isFenced: boolean,
): SchemaStep[] {
  if (former === undefined) return [];
  const stepsOf = (of: Schema, field: string) =>
    Object.hasOwn(of.properties, field) ? (of.properties[field]!['x-normalize'] ?? []) : [];
  const changed = Object.entries(schema.properties).flatMap(([field, { 'x-was': was }]) => {
    const steps = stepsOf(schema, field);
    const before = stepsOf(former, was === undefined || isDeclared(former, field) ? field : was);
    return steps.every((step, at) => step === before[at]) ? [] : [[field, { steps }] as const];
  });
  if (changed.length === 0) return [];
  const names = changed.map(([field]) => `${name}.${field}`).join(', ');
  return [
    documentStep(
      `Normalize ${names} in the documents, 1,000 at a time`,
      { kind: 'normalize', collection: name, rules: Object.fromEntries(changed) },
      isFenced,
    ),
  ];
}

/** Fields that become write-only: their values were stored, and recorded, where responses read them. */
export function hideFields(
  { name, writeOnly }: Resource,
  former: Schema | undefined,
  isFenced: boolean,
): SchemaStep[] {
  const fields = writeOnly.filter((field) => former?.properties[field]?.writeOnly !== true);
  if (fields.length === 0) return [];
  return [
    documentStep(
      `Hide ${fields.map((field) => `${name}.${field}`).join(', ')}: in the documents, 1,000 at a time, and in events, deliveries and stored responses`,
      { kind: 'hide', collection: name, fields },
      isFenced,
    ),
  ];
}

/** Fields that the applied declaration had and this one has not, under any name. */
export function droppedFields({ schema }: Declaration, former: Schema | undefined): string[] {
  const renamed = Object.values(schema.properties).map(({ 'x-was': was }) => was);
  return Object.keys(former?.properties ?? {}).filter(
    (field) => !isDeclared(schema, field) && !renamed.includes(field),
  );
}

/** Whether a record may have no other fields than the declared ones. */
const isClosed = (schema: Schema): boolean =>
  schema.additionalProperties === false || schema.unevaluatedProperties === false;

/** Steps that remove fields which are no longer declared from the documents, if a record may not have them. */
export function pruneFields(
  { name, schema }: Declaration,
  dropped: readonly string[],
  pending: readonly PendingWork[],
): SchemaStep[] {
  const offered = pending.flatMap(({ work }) => (work.kind === 'prune' ? work.fields : []));
  const fields = [...new Set([...dropped, ...offered])].filter((field) => !isDeclared(schema, field));
  if (fields.length === 0 || !isClosed(schema)) return [];
  const names = fields.map((field) => `${name}.${field}`).join(', ');
  return [
    {
      title: `Remove ${names} from the documents, 1,000 at a time, and from events, deliveries and stored responses`,
      locks: lockBatch,
      loses: `the values of ${names}, which the declaration forbids`,
      work: { kind: 'prune', collection: name, fields },
      sql: fields.map(
        (field) =>
          `delete from plinth_document_work where collection = ${quoted(name)} and state = 'offer' and work::json -> 'fields' ->> 0 = ${quoted(field)}`,
      ),
    },
  ];
}

/** The defaults of fields, and of members of objects, that become required, by JSON Pointers; `former`: the rules before. */
export function newDefaults(
  schema: JsonObject,
  former: JsonObject,
  at = '',
): [pointer: string, value: Json][] {
  const [members, before] = [new Map(membersOf(schema)), new Map(membersOf(former))];
  const pointerTo = (name: string) => `${at}/${escapeToken(name)}`;
  const wasRequired = requiredIn(former);
  const added = requiredIn(schema).filter((name) => !wasRequired.includes(name));
  return [
    ...added.flatMap((name): [string, Json][] => {
      const value = members.get(name)?.default;
      return value === undefined || value === null ? [] : [[pointerTo(name), value]];
    }),
    ...[...members].flatMap(([name, own]) => newDefaults(own, before.get(name) ?? {}, pointerTo(name))),
  ];
}

/** The schemas of the members of an object. */
const membersOf = ({ properties }: JsonObject): [string, JsonObject][] =>
  Object.entries(isObject(properties) ? properties : {}).filter((each): each is [string, JsonObject] =>
    isObject(each[1]),
  );

const requiredIn = ({ required }: JsonObject): string[] =>
  Array.isArray(required) ? required.filter((each) => typeof each === 'string') : [];
