import { MAX_INDEXED_BYTES } from '../collection/column.js';
import { escapeToken } from '../json.js';
import { collectionFaults } from './collection-faults.js';
import type { Declaration, DeclarationFault, DeclaredField } from './declaration.js';
import { columnOf, hasColumn } from './declared-column.js';
import { isGiven } from './field-keywords.js';
import { referenceFaults } from './reference-faults.js';
import { setFaults } from './set-faults.js';

/** The faults of the fields of a declaration, and of what x-collection says of them. `collections`: the names of all. */
export function fieldFaults(declaration: Declaration, collections: readonly string[]): DeclarationFault[] {
  const { file, schema } = declaration;
  const columns = new Map<string, string>();
  const faults: DeclarationFault[] = [];
  for (const [name, field] of Object.entries(schema.properties)) {
    const fault = (keyword: string, reason: string) =>
      void faults.push({ file, pointer: `/properties/${escapeToken(name)}${keyword}`, reason });
    checkKeywords(field, fault);
    for (const [pointer, reason] of referenceFaults(name, field, schema, collections)) fault(pointer, reason);
    for (const [keyword, reason] of setFaults(name, declaration.schema)) fault(keyword, reason);
    const source = field.readOnly ? 'readOnly' : 'x-import-only';
    if (schema.required?.includes(name) && field[source] && isWithoutDefault(field))
      fault(
        `/${source}`,
        'no request can set the field, and each record must have it: give it a default, or do not require it',
      );
    if (field.writeOnly && schema.required?.includes(name))
      fault('/writeOnly', 'a field that is never returned cannot be required: a patch would not contain it');
    if (!hasColumn(field)) continue;
    const column = columnOf(name, field);
    if ('fault' in column) {
      fault('/type', column.fault);
      continue;
    }
    const other = columns.get(column.name);
    if (other !== undefined) fault('', `has the same column as ${other}: ${column.name}`);
    columns.set(column.name, name);
    if (field['x-search'] && column.type !== 'text')
      fault('/x-search', 'only a field of type string can be searched');
    if (field['x-unique'] && column.type.endsWith('[]')) fault('/x-unique', 'an array cannot be unique');
  }
  return [...faults, ...collectionFaults(declaration)];
}

/** Whether nothing gives the field a value that a request leaves out. */
const isWithoutDefault = (field: DeclaredField): boolean =>
  field['x-set'] === undefined && !isGiven({ ...field } as never, 'default');

function checkKeywords(field: DeclaredField, fault: (keyword: string, reason: string) => void): void {
  if (field['x-normalize'] !== undefined && !mayBeNormalized(field))
    fault('/x-normalize', 'has no effect on a field of another type than string or, for integer, a number');
  if (field['x-normalize']?.includes('nfc') && !(Number(field.maxLength) > 0))
    fault('/x-normalize', 'nfc needs maxLength');
  const [maxLength, where] = indexedLength(field);
  if (maxLength > MAX_INDEXED_BYTES)
    fault(
      where,
      `an index holds up to ${MAX_INDEXED_BYTES} bytes: lower it, or use x-search without x-index`,
    );
  if (field.writeOnly && hasColumn(field))
    fault('/writeOnly', 'a field that is never returned cannot be indexed');
}

/** Whether a field may have texts, or numbers that a body may give as texts. */
const mayBeNormalized = ({ type, 'x-normalize': steps = [] }: DeclaredField): boolean =>
  type === undefined ||
  [type]
    .flat()
    .some(
      (each) => each === 'string' || (steps.includes('integer') && each !== 'object' && each !== 'array'),
    );

/** The declared length of the texts that an index has whole, with its place. */
function indexedLength(field: DeclaredField): [maxLength: number, keyword: string] {
  if (!field['x-index'] && !field['x-unique']) return [0, ''];
  const { items, maxLength } = field as { items?: { maxLength?: number } } & DeclaredField;
  return maxLength === undefined
    ? [Number(items?.maxLength ?? 0), '/items/maxLength']
    : [maxLength, '/maxLength'];
}
