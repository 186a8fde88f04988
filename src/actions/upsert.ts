import { inAttempts } from '../collection/attempts.js';
import { writableKeys } from '../collection/resource.js';
import type { Db, Run } from '../db/db.js';
import { invalidQuery } from '../errors/input-errors.js';
import { Problem } from '../errors/problem.js';
import { preconditionFailed } from '../errors/record-errors.js';
import { NO_QUERY } from '../http/query-parameters.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { isObject, type Json, setMember } from '../json.js';
import type { Comparison } from '../list/condition.js';
import { readFilter } from '../list/read-filter.js';
import type { Accessible } from '../list/relations.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import { forRecord } from './operation-step.js';

/**
 * Replaces the record with the values of a unique key, which are the filter, or creates it: the statuses of both actions, and 412
 * for If-Match without such a record. Upserts of one key wait for each other.
 */
export function upsert(db: Db, scoped: ScopedCollection, replacement: Action, creation: Action): Action {
  const { resource } = scoped;
  const keyIn = (request: Request) => readKey(request, scoped.as(request));
  const write = async (request: Request, key: readonly Comparison[], run: Run): Promise<Reply> => {
    const collection = scoped.as(request);
    const values = key.map(({ field, values }) => [field, ...values]).sort();
    await collection.lockKey(JSON.stringify([resource.name, values]), run);
    const [id] = await collection.ids({ conditions: key, search: [] }, 1, run);
    if (id !== undefined) return replacement.run(forRecord(request, id, run));
    if (request.headers['if-match'] !== undefined) throw preconditionFailed();
    return creation.run({ ...request, query: NO_QUERY, run });
  };
  return {
    prepare: (request) => creation.prepare?.(withKey(request, keyIn(request))),
    run: async (given) => {
      const key = keyIn(given);
      const request = withKey(given, key);
      if (request.run) return write(request, key, request.run);
      const prepare = creation.prepare?.(request);
      const prepared = prepare ? await prepare() : request;
      return inAttempts(async (attempt) => {
        try {
          return await db.transaction((run) => write(prepared, key, run));
        } catch (error) {
          // The record with the value may be one that the caller may not read.
          if (!isOvertaken(error, key) || (scoped.as(request).access && attempt > 0)) throw error;
          return undefined;
        }
      });
    },
  };
}

/** Whether another request has created or deleted the record since it was looked for. */
function isOvertaken(error: unknown, key: readonly Comparison[]): boolean {
  if (!(error instanceof Problem)) return false;
  if (error.status !== 409) return error.status === 404 || error.status === 410;
  const { field, fields = [field] } = (error.more.details ?? {}) as { field?: string; fields?: string[] };
  return fields.length === key.length && key.every((each) => fields.includes(each.field));
}

/** The comparisons of the filter. Throws 400 unless they are those of one unique key, by equality, and 403. */
function readKey({ query }: Request, records: Accessible): readonly Comparison[] {
  const conditions = readFilter(query.parameters, records);
  const keys = writableKeys(records.resource);
  const isOf = (fields: readonly string[]) =>
    conditions.length === fields.length &&
    fields.every((field) =>
      conditions.some((each) => each.kind === 'comparison' && each.operator === 'eq' && each.field === field),
    );
  if (keys.some(isOf)) return conditions as readonly Comparison[];
  const named = keys.map((fields) => fields.join(' and ')).join(', or ');
  throw invalidQuery(
    'filter',
    `must have one value of each field of a unique key, and nothing else: ${named}`,
  );
}

/** The request with the values of the key in its body, in place of other ones there. */
function withKey(request: Request, key: readonly Comparison[]): Request {
  const value = request.body?.value;
  if (!request.body || !isObject(value)) return request;
  const filled = { ...value };
  for (const { field, column, values } of key) setMember(filled, field, jsonOf(column.type, values[0]!));
  return { ...request, body: { ...request.body, value: filled } };
}

function jsonOf(type: string, text: string): Json {
  if (type === 'double precision') return Number(text);
  return type === 'boolean' ? text === 'true' : text;
}
