import type { Resource } from '../collection/resource.js';
import type { Declaration } from '../declarations/declaration.js';
import type { Json, JsonObject } from '../json.js';
import type { PendingWork } from './catalog.js';
import { defaultsWithin } from './nested-defaults.js';
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
  declaration: Declaration,
  former: Schema | undefined,
  isFenced: boolean,
): SchemaStep[] {
  if (former === undefined) return [];
  const { name, schema } = declaration;
  const values = Object.fromEntries(
    (schema.required ?? [])
      .filter((field) => !former.required?.includes(field))
      .map((field): [string, Json | undefined] => [field, defaultOf(schema, field)])
      .filter((entry): entry is [string, Json] => entry[1] !== undefined && entry[1] !== null),
  );
  const within = Object.fromEntries(
    defaultsWithin(schema as unknown as JsonObject, former as unknown as JsonObject),
  );
  const step = (kind: 'default' | 'default-within', values: JsonObject, separator: string) => {
    const names = Object.keys(values).map((field) => `${name}${separator}${field}`);
    return names.length === 0
      ? []
      : [
          documentStep(
            `Give ${names.join(', ')} ${names.length === 1 ? 'its default' : 'their defaults'} in the documents without a value, 1,000 at a time`,
            { kind, collection: name, values },
            isFenced,
          ),
        ];
  };
  return [...step('default', values, '.'), ...step('default-within', within, '')];
}

const defaultOf = ({ properties }: Schema, field: string): Json | undefined =>
  Object.hasOwn(properties, field) ? (properties[field] as { default?: Json }).default : undefined;

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
