import type { Declaration } from '../declarations/declaration.js';
import type { JsonObject } from '../json.js';
import type { PendingWork } from './catalog.js';
import { isDeclared, newDefaults } from './field-steps.js';
import { fieldsOf } from './field-work.js';
import { type DocumentWork, lockBatch, NO_LOCK, quoted, type SchemaStep, step } from './step.js';
import type { Table } from './table.js';

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

/** The step after which the records of a collection are compared with its declaration no more. */
export const trustRecords = (name: string): SchemaStep =>
  step(
    `Note that all services have the present declaration of ${name}, whose records were compared with it`,
    NO_LOCK,
    [`delete from plinth_document_work where collection = ${quoted(name)} and state = 'check'`],
  );

/** The order in which a plan does work on documents. */
const ORDER: readonly DocumentWork['kind'][] = [
  'rename',
  'default-within',
  'normalize',
  'fill',
  'hide',
  'prune',
];
