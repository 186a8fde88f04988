import type { Declaration, DeclarationFault, DeclaredSchema } from './declaration.js';
import { columnOf, hasColumn } from './declared-column.js';
import { declaredReference } from './declared-reference.js';

/** The faults of what x-collection says of fields. */
export function collectionFaults({ file, schema }: Declaration): DeclarationFault[] {
  return [...nestedFaults(schema), ...uniqueFaults(schema), ...languageFaults(schema)].map(
    ([pointer, reason]) => ({
      file,
      pointer: `/x-collection${pointer}`,
      reason,
    }),
  );
}

type Fault = readonly [pointer: string, reason: string];

function nestedFaults({ properties, 'x-collection': { nested } = {} }: DeclaredSchema): Fault[] {
  const referring = Object.keys(properties).filter((name) => properties[name]!['x-references']);
  const isMissing = nested === true ? referring.length === 0 : nested && !referring.includes(nested);
  return isMissing ? [['/nested', 'there is no such field with x-references']] : [];
}

function languageFaults({ properties, 'x-collection': { language } = {} }: DeclaredSchema): Fault[] {
  const hasWords = Object.values(properties).some((field) => field['x-search'] === 'words');
  return language === undefined || hasWords ? [] : [['/language', 'no field has x-search: "words"']];
}

function uniqueFaults({ properties, 'x-collection': { unique = [] } = {} }: DeclaredSchema): Fault[] {
  const seen = new Set<string>();
  return unique.flatMap((key, index): Fault[] => {
    const isList = !('fields' in key);
    const fields = isList ? key : key.fields;
    const sorted = JSON.stringify(fields.toSorted());
    const isRepeated = seen.has(sorted);
    seen.add(sorted);
    return [
      ...(isRepeated ? [[`/unique/${index}`, 'another key has the same fields'] as const] : []),
      ...fields.flatMap((name, at): Fault[] => {
        const reason = keyFault(properties, name);
        return reason === undefined ? [] : [[`/unique/${index}${isList ? '' : '/fields'}/${at}`, reason]];
      }),
    ];
  });
}

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
