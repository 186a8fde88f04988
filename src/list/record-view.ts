import type { Resource } from '../collection/resource.js';
import { listIn, readFields, readInclude } from './extended-query.js';

/** The query parameters of one record. */
export const RECORD_PARAMETERS = ['fields', 'include'] as const;

/** What a request asks for of one record. */
export interface RecordView {
  /** Undefined: all. */
  readonly fields: readonly string[] | undefined;
  readonly include: readonly string[];
}

/** Reads the query of one record; undefined: it asks for the record as it is. Throws 400 for anything invalid. */
export function readRecordView(query: string, resource: Resource): RecordView | undefined {
  const given = new URLSearchParams(query);
  const fields = readFields(listIn(given, 'fields'), resource);
  const include = readInclude(listIn(given, 'include'), resource);
  return fields === undefined && include.length === 0 ? undefined : { fields, include };
}
