import type { Resource } from '../collection/resource.js';
import type { Declaration } from '../declarations/declaration.js';
import type { Json, JsonObject } from '../json.js';
import type { PendingWork } from './catalog.js';
import { defaultsWithin } from './nested-defaults.js';
import { type DocumentWork, lockBatch, NO_LOCK, quoted, type SchemaStep } from './step.js';
import type { Table } from './table.js';

type Schema = Declaration['schema'];

const isDeclared = (schema: Schema | undefined, field: string): boolean =>
  schema !== undefined && Object.hasOwn(schema.properties, field);

/** A step that changes documents. It is recorded, so that it is repeated for what running services write meanwhile. */
export function documentStep(title: string, work: DocumentWork, sql: readonly string[] = []): SchemaStep {
  return {
    title,
    locks: lockBatch,
    work,
    sql: [
      ...sql,
      `insert into plinth_document_work values (${quoted(work.collection)}, ${quoted(JSON.stringify(work))}, 'repeat') on conflict (collection, work) do update set state = excluded.state`,
    ],
  };
}

/** Fields with x-was that the applied declaration knows by their former names. */
export function renameFields({ name, schema }: Declaration, former: Schema | undefined): SchemaStep[] {
  return Object.entries(schema.properties).flatMap(([to, { 'x-was': from }]) =>
    from === undefined || !isDeclared(former, from) || isDeclared(former, to)
      ? []
      : [
          documentStep(
            `Rename the field ${from} of ${name} to ${to} in the documents, 1,000 at a time`,
            { kind: 'rename', collection: name, from, to },
            [
              `update plinth_numbers set field = ${quoted(to)} where collection = ${quoted(name)} and field = ${quoted(from)}`,
            ],
          ),
        ],
  );
}

/** Fields, and members of objects, that become required and have a default. */
export function defaultFields(declaration: Declaration, former: Schema | undefined): SchemaStep[] {
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
          ),
        ];
  };
  return [...step('default', values, '.'), ...step('default-within', within, '')];
}

const defaultOf = ({ properties }: Schema, field: string): Json | undefined =>
  Object.hasOwn(properties, field) ? (properties[field] as { default?: Json }).default : undefined;

/** Fields with other steps of x-normalize: queries compare what these make of a text. */
export function normalizeFields({ name, schema }: Declaration, former: Schema | undefined): SchemaStep[] {
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
    documentStep(`Normalize ${names} in the documents, 1,000 at a time`, {
      kind: 'normalize',
      collection: name,
      rules: Object.fromEntries(changed),
    }),
  ];
}

/** Fields that become write-only: their values were stored, and recorded, where responses read them. */
export function hideFields({ name, writeOnly }: Resource, former: Schema | undefined): SchemaStep[] {
  const fields = writeOnly.filter((field) => former?.properties[field]?.writeOnly !== true);
  if (fields.length === 0) return [];
  return [
    documentStep(
      `Hide ${fields.map((field) => `${name}.${field}`).join(', ')}: in the documents, 1,000 at a time, and in events, deliveries and stored responses`,
      { kind: 'hide', collection: name, fields },
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

const forget = (collection: string, work: DocumentWork): string =>
  `delete from plinth_document_work where collection = ${quoted(collection)} and work = ${quoted(JSON.stringify(work))}`;

/** Steps that repeat work for records which services with the former declaration have written since. */
export function repeatWork(
  declaration: Declaration,
  { columns }: Table,
  writeOnly: readonly string[],
  pending: readonly PendingWork[],
): SchemaStep[] {
  const { name, schema } = declaration;
  const isCurrent = (work: DocumentWork): boolean => {
    switch (work.kind) {
      case 'fill':
        return work.columns.every((column) => columns.some((each) => each.name === column));
      case 'rename':
        return isDeclared(schema, work.to) && !isDeclared(schema, work.from);
      case 'normalize':
        return Object.entries(work.rules).every(
          ([field, { steps }]) =>
            isDeclared(schema, field) &&
            steps.join() === (schema.properties[field]!['x-normalize'] ?? []).join(),
        );
      case 'hide':
        return work.fields.every((field) => writeOnly.includes(field));
      case 'default':
        return Object.keys(work.values).every((field) => schema.required?.includes(field));
      case 'default-within': {
        const present = defaultsWithin(schema as unknown as JsonObject, {}).map(([pointer]) => pointer);
        return Object.keys(work.values).every((pointer) => present.includes(pointer));
      }
      case 'prune':
        return work.fields.every((field) => !isDeclared(schema, field));
    }
  };
  return pending
    .filter(({ state }) => state === 'repeat')
    .sort((a, b) => ORDER.indexOf(a.work.kind) - ORDER.indexOf(b.work.kind))
    .map(({ work }) =>
      isCurrent(work)
        ? {
            title: `Repeat for ${name}, for records of services with the former declarations: ${summaryOf(work)}`,
            locks: lockBatch,
            work: { ...work, collection: name },
            sql: [forget(name, work)],
          }
        : {
            title: `Forget for ${name}, since the declaration is another one: ${summaryOf(work)}`,
            locks: NO_LOCK,
            sql: [forget(name, work)],
          },
    );
}

/** The step after which the records of a collection are compared with its declaration no more. */
export const trustRecords = (name: string): SchemaStep => ({
  title: `Note that all services have the present declaration of ${name}, whose records were compared with it`,
  locks: NO_LOCK,
  sql: [`delete from plinth_document_work where collection = ${quoted(name)} and state = 'check'`],
});

/** The order in which a plan does work on documents. */
const ORDER: readonly DocumentWork['kind'][] = [
  'rename',
  'default',
  'default-within',
  'normalize',
  'fill',
  'hide',
  'prune',
];

function summaryOf(work: DocumentWork): string {
  switch (work.kind) {
    case 'fill':
      return `fill ${work.columns.join(', ')}`;
    case 'rename':
      return `rename ${work.from} to ${work.to}`;
    case 'default':
    case 'default-within':
      return `defaults of ${Object.keys(work.values).join(', ')}`;
    case 'normalize':
      return `normalize ${Object.keys(work.rules).join(', ')}`;
    default:
      return `${work.kind} ${work.fields.join(', ')}`;
  }
}
