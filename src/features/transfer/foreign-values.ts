import type { Resource } from '../../collection/resource.js';
import type { DeclaredField } from '../../declarations/declaration.js';
import { isObject, type Json, member, setMember } from '../../json.js';

/** Texts by which databases write that there is no value. */
const NULLS: ReadonlySet<Json> = new Set(['NULL', 'null']);

export const isNullText = (value: Json): boolean => NULLS.has(value);

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
      const { type = [], format, 'x-references': to } = field;
      const isTime = format === 'date' || format === 'date-time';
      const hasTexts = type.length === 0 || [type].flat().includes('string');
      return hasTexts && !isTime && to === undefined ? [] : [[name, isTime ? format : undefined] as const];
    }),
  );

/** Makes a record of a database one of this service: such a field with the text NULL has no value. */
export function adapt(record: Json, fields: ReadonlyMap<string, string | undefined>): void {
  if (!isObject(record)) return;
  for (const [name, format] of fields) {
    const value = member(record, name);
    if (typeof value !== 'string') continue;
    if (isNullText(value)) delete record[name];
    else if (format !== undefined) setMember(record, name, timeAs(format, value));
  }
}
