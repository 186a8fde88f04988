import type { Resource } from '../../collection/resource.js';
import type { DeclaredField } from '../../declarations/declaration.js';
import { isObject, type Json, type JsonObject, member, setMember } from '../../json.js';
import { isExported } from './record-identity.js';

/** A time as databases write it: `1996-07-04 00:00:00.000`. */
const TIME = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,9})?)$/;

/** A time of a database as a text of a format, in UTC; another text as it is. */
export function timeAs(format: string, text: string): string {
  const [, day, time = ''] = TIME.exec(text) ?? [];
  if (day === undefined || (format === 'date' && /[1-9]/.test(time))) return text;
  return format === 'date' ? day : `${day}T${time}Z`;
}

/** The fields of a collection that hold no texts but references and times, and the formats of these. */
export const fieldsWithoutTexts = ({ schema }: Resource): ReadonlyMap<string, string | undefined> =>
  new Map(
    Object.entries(schema.properties as Readonly<Record<string, DeclaredField>>).flatMap(([name, field]) => {
      const { type = [], format = '', 'x-references': to } = field;
      const isTime = /^date(?:-time)?$/.test(format);
      const hasTexts = type.length === 0 || [type].flat().includes('string');
      return hasTexts && !isTime && to === undefined ? [] : [[name, isTime ? format : undefined] as const];
    }),
  );

/** Removes the members of another database's record by which it says that there is no value: the text NULL. */
export function removeNulls(value: Json): void {
  if (isExported(value)) return;
  for (const [name, each] of isObject(value) ? Object.entries(value) : [])
    if (each === 'NULL') delete (value as JsonObject)[name];
    else removeNulls(each);
}

/** Writes the times of a record of another database as this service does. Where no text is a value, NULL is none without --infer as well. */
export function adapt(record: Json, fields: ReadonlyMap<string, string | undefined>): void {
  if (!isObject(record)) return;
  for (const [name, format] of fields) {
    const value = member(record, name);
    if (value === 'NULL' || value === 'null') delete record[name];
    else if (format !== undefined && typeof value === 'string')
      setMember(record, name, timeAs(format, value));
  }
}
