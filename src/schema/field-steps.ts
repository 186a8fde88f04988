import type { Resource } from '../collection/resource.js';
import type { Declaration } from '../declarations/declaration.js';
import { escapeToken, isObject, type Json, type JsonObject } from '../json.js';
import type { PendingWork } from './catalog.js';
import { fieldsOf } from './field-work.js';
import {
  type DocumentWork,
  type FieldWork,
  lockBatch,
  NO_LOCK,
  quoted,
  type SchemaStep,
  step,
} from './step.js';
import type { Table } from './table.js';

type Schema = Declaration['schema'];

const isDeclared = (schema: Schema | undefined, field: string): boolean =>
  schema !== undefined && Object.hasOwn(schema.properties, field);

/** A step that changes documents. Unless the table is fenced, the step is repeated for what running services write meanwhile. */
export function documentStep(work: DocumentWork, isFenced: boolean, sql: readonly string[] = []): SchemaStep {
  const of = quoted(work.collection);
  const repeat = `insert into plinth_document_work values (${of}, ${quoted(JSON.stringify(work))}, 'repeat') on conflict (collection, work) do update set state = excluded.state`;
  const numbers =
    work.kind === 'rename'
      ? [
          `update plinth_numbers set field = ${quoted(work.to)} where collection = ${of} and field = ${quoted(work.from)}`,
        ]
      : [];
  return step(titleOf(work), lockBatch, [...sql, ...numbers, ...(isFenced ? [] : [repeat])], { work });
}

function titleOf(work: DocumentWork): string {
  const { kind, collection } = work;
  if (kind === 'rename')
    return `Rename the field ${work.from} of ${collection} to ${work.to} in the documents, 1,000 at a time`;
  const names = (kind === 'fill' ? work.columns : fieldsOf(work)).map((each) => `${collection}.${each}`);
  if (kind === 'fill') return `Fill ${names.join(', ')} from the documents, 1,000 at a time`;
  if (kind === 'normalize') return `Normalize ${names.join(', ')} in the documents, 1,000 at a time`;
  if (kind === 'default-within') {
    const members = Object.keys(work.values).map((pointer) => collection + pointer.replace('/', '.'));
    const values = members.length === 1 ? 'its default' : 'their defaults';
    return `Give ${members.join(', ')} ${values} in the documents without a value, 1,000 at a time`;
  }
  return kind === 'hide'
    ? `Hide ${names.join(', ')}: in the documents, 1,000 at a time, and in events, deliveries and stored responses`
    : `Remove ${names.join(', ')} from the documents, 1,000 at a time, and from events, deliveries and stored responses`;
}

/**
 * The work of a declaration on stored documents: fields that the applied one knows by their former names are renamed; fields and
 * members that become required get their defaults; and texts go through other steps of x-normalize, since queries compare the result.
 */
export function fieldWorks({ name, schema }: Declaration, former: Schema | undefined): FieldWork[] {
  if (former === undefined) return [];
  const collection = name;
  const fields = Object.entries(schema.properties);
  const renames = fields.flatMap(([to, { 'x-was': from }]): FieldWork[] =>
    from === undefined || !isDeclared(former, from) || isDeclared(former, to)
      ? []
      : [{ kind: 'rename', collection, from, to }],
  );
  const values = Object.fromEntries(newDefaults(schema as JsonObject, former as JsonObject));
  const normalized = fields.flatMap(([field, { 'x-normalize': steps = [], 'x-was': was }]) => {
    const before = was === undefined || isDeclared(former, field) ? field : was;
    const stepsBefore = isDeclared(former, before) ? (former.properties[before]!['x-normalize'] ?? []) : [];
    return steps.every((each, at) => each === stepsBefore[at]) ? [] : [[field, { steps }] as const];
  });
  const rules = Object.fromEntries(normalized);
  return [
    ...renames,
    ...(Object.keys(values).length === 0 ? [] : [{ kind: 'default-within', collection, values } as const]),
    ...(normalized.length === 0 ? [] : [{ kind: 'normalize', collection, rules } as const]),
  ];
}

/** Fields that become write-only: their values were stored, and recorded, where responses read them. */
export function hideFields(
  { name, writeOnly }: Resource,
  former: Schema | undefined,
  isFenced: boolean,
): SchemaStep[] {
  const fields = writeOnly.filter((field) => former?.properties[field]?.writeOnly !== true);
  return fields.length === 0 ? [] : [documentStep({ kind: 'hide', collection: name, fields }, isFenced)];
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
  const work = { kind: 'prune', collection: name, fields } as const;
  const forget = (field: string) =>
    `delete from plinth_document_work where collection = ${quoted(name)} and state = 'offer' and work::json -> 'fields' ->> 0 = ${quoted(field)}`;
  return [
    step(titleOf(work), lockBatch, fields.map(forget), {
      loses: `the values of ${fields.map((field) => `${name}.${field}`).join(', ')}, which the declaration forbids`,
      work,
    }),
  ];
}

/** The defaults of fields, and of members of objects, that become required, by JSON Pointers; `former`: the rules before. */
function newDefaults(schema: JsonObject, former: JsonObject, at = ''): [pointer: string, value: Json][] {
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

/** Steps that repeat work for records which services with the former declaration have written since. */
export function repeatWork(
  declaration: Declaration,
  { columns }: Table,
  writeOnly: readonly string[],
  pending: readonly PendingWork[],
): SchemaStep[] {
  const { name, schema } = declaration;
  const required = newDefaults(schema as JsonObject, {}).map(([pointer]) => pointer);
  const steps = ({ properties }: typeof schema, field: string) => properties[field]!['x-normalize'] ?? [];
  /** Whether the declaration is still the one that the work is for. Version 0.1.0 leaves all kinds. */
  const isCurrent = (work: DocumentWork): boolean => {
    if (work.kind === 'fill')
      return work.columns.every((column) => columns.some((each) => each.name === column));
    if (work.kind === 'default-within')
      return Object.keys(work.values).every((each) => required.includes(each));
    const fields = fieldsOf(work);
    if (work.kind === 'hide') return fields.every((field) => writeOnly.includes(field));
    if (work.kind === 'prune') return !fields.some((field) => isDeclared(schema, field));
    if (!fields.every((field) => isDeclared(schema, field))) return false;
    if (work.kind === 'rename') return !isDeclared(schema, work.from);
    return Object.entries(work.rules).every(
      ([field, rule]) => rule.steps.join() === steps(schema, field).join(),
    );
  };
  return pending
    .filter(({ state }) => state === 'repeat')
    .sort((a, b) => ORDER.indexOf(a.work.kind) - ORDER.indexOf(b.work.kind))
    .map(({ work, text }) => {
      const of = work.kind === 'fill' ? work.columns : fieldsOf(work);
      const forget = `delete from plinth_document_work where collection = ${quoted(name)} and work = ${quoted(text)}`;
      const what = `${work.kind} of ${of.join(', ')}`;
      if (!isCurrent(work))
        return step(`Forget for ${name}, whose declaration is another one: ${what}`, NO_LOCK, [forget]);
      const title = `Repeat for ${name}, for records of services with the former declarations: ${what}`;
      return step(title, lockBatch, [forget], { work: { ...work, collection: name } });
    });
}

/** The order in which a plan does work on documents. */
const ORDER: readonly DocumentWork['kind'][] = [
  'rename',
  'default-within',
  'normalize',
  'fill',
  'hide',
  'prune',
];
