import type { Resource } from '../../collection/resource.js';
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

/** The fields of a collection that hold times, with their formats. */
export const timesOf = ({ schema }: Resource): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(schema.properties as Readonly<Record<string, { format?: string }>>).flatMap(
      ([name, { format = '' }]) => (/^date(?:-time)?$/.test(format) ? [[name, format] as const] : []),
    ),
  );

/** Removes the members of another database's record by which it says that there is no value: the text NULL. */
export function removeNulls(value: Json): void {
  if (isExported(value)) return;
  for (const [name, each] of isObject(value) ? Object.entries(value) : [])
    if (each === 'NULL') delete (value as JsonObject)[name];
    else removeNulls(each);
}

/** Writes the times of a record of another database as this service does. */
export function adaptTimes(record: Json, times: ReadonlyMap<string, string>): void {
  if (!isObject(record)) return;
  for (const [name, format] of times) {
    const value = member(record, name);
    if (typeof value === 'string') setMember(record, name, timeAs(format, value));
  }
}
