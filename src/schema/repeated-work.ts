import type { Declaration } from '../declarations/declaration.js';
import type { JsonObject } from '../json.js';
import type { PendingWork } from './catalog.js';
import { isDeclared } from './field-steps.js';
import { defaultsWithin } from './nested-defaults.js';
import { type DocumentWork, lockBatch, NO_LOCK, quoted, type SchemaStep } from './step.js';
import type { Table } from './table.js';

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
