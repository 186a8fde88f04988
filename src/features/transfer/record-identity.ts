import { invalidBody } from '../../errors/input-errors.js';
import { isObject, type Json, type JsonObject, member } from '../../json.js';
import { createdAt, type Identity, nextIdentity, parseUuid } from '../../uuid.js';
import { instantOf } from '../../validation/times.js';
import { OWNED_FIELDS } from './csv-header.js';

/** The members of an imported record that the service owns. */
export interface RecordIdentity extends Identity {
  readonly version: number;
  readonly updatedAt: string;
  /** Whether it is that of the file. */
  readonly isRetained: boolean;
}

/** Whether a record has what the service owns, as in an export. */
export const isExported = (record: Json): boolean =>
  isObject(record) &&
  OWNED_FIELDS.every((name) => Object.hasOwn(record, name)) &&
  versionSevenOf(record.id) !== undefined;

const versionSevenOf = (id: Json | undefined): string | undefined => {
  const uuid = typeof id === 'string' ? parseUuid(id) : undefined;
  return uuid?.[14] === '7' ? uuid : undefined;
};

let lastMs = 0;
let lastTime = '';

/** A new record's id with the time in it. */
export function newIdentity(): RecordIdentity {
  const { id, ms } = nextIdentity();
  return { id, ms, version: 1, updatedAt: timeOf(ms), isRetained: false };
}

/** The time in an id, as text. */
export function timeOf(ms: number): string {
  if (ms !== lastMs) [lastMs, lastTime] = [ms, new Date(ms).toISOString()];
  return lastTime;
}

/** The id, the version and the times of a record in the file; without an id, new ones. Throws invalidBody. */
export function retainedIdentity(record: JsonObject): RecordIdentity {
  const given = member(record, 'id') ?? undefined;
  if (given === undefined) return newIdentity();
  const id = versionSevenOf(given);
  if (id === undefined)
    throw invalidBody(
      'must be a UUID of version 7 to be retained: lists have records in the order of their ids',
      'id',
      '/id',
    );
  const ms = createdAt(id);
  const created = timeOf(ms);
  if (momentOf(member(record, 'created_at') ?? created, 'created_at') !== created)
    throw invalidBody(`must be the time in the id, ${created}`, 'created_at', '/created_at');
  const updated = member(record, 'updated_at') ?? created;
  return {
    id,
    ms,
    version: versionOf(member(record, '_version') ?? 1),
    updatedAt: momentOf(updated, 'updated_at'),
    isRetained: true,
  };
}

function momentOf(value: Json, field: string): string {
  const moment = typeof value === 'string' ? instantOf(value) : undefined;
  if (moment === undefined) throw invalidBody('must be a time as RFC 3339 has it', 'format', `/${field}`);
  return moment;
}

function versionOf(value: Json): number {
  const version = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value;
  if (!Number.isInteger(version) || (version as number) < 1 || (version as number) > 2_147_483_646)
    throw invalidBody('must be an integer from 1 to 2147483646', 'type', '/_version');
  return version as number;
}
