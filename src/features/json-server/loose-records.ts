import { MAX_PAGE_BYTES } from '../../collection/document.js';
import { CACHE } from '../../collection/representation.js';
import { pageExceeds } from '../../errors/input-errors.js';
import { Problem } from '../../errors/problem.js';
import type { Collection } from '../../feature.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { Reply } from '../../http/reply.js';
import type { Body, Request } from '../../http/request.js';
import type { Action } from '../../http/router.js';
import { isObject, type Json, type JsonObject, member, setMember } from '../../json.js';
import { parseUuid } from '../../uuid.js';
import { newIdOf, singleReferences } from './loose-ids.js';
import { readQuery } from './loose-query.js';
import { addRelations, type Source } from './loose-relations.js';

/**
 * An action on one record with the addresses, bodies and responses of json-server 0.17: an id from before an import leads to
 * its record, a missing record is 404 `{}`, and a deletion 200 `{}`.
 */
export function asJsonServerRecord(action: Action, source: Source): Action {
  return translated(action, source, source.collection, async (request) => {
    if (request.method === 'GET' || request.method === 'HEAD')
      return readWithRelations(action, source, request);
    const id = parseUuid(request.params.id ?? '');
    const isAbsent =
      request.method === 'DELETE' && !(id && (await source.as(request).exists(id, request.run)));
    // Run in any case: only then is it known whether the caller may learn that there is no record.
    const reply = await action.run(request);
    if (request.method !== 'DELETE' || reply.status !== 204) return reply;
    return isAbsent ? MISSING : { ...reply, ...EMPTY, status: 200 };
  });
}

/** A creation whose references may be ids from before an import; `parent`: that of the record in the path. */
export function asJsonServerCreation(action: Action, source: Source, parent?: Collection): Action {
  return translated(action, source, parent, async (request) => {
    const reply = await action.run(request);
    const at = reply.headers.indexOf('Location') + 1;
    const address = source.originOf(request.headers) + reply.headers[at];
    return at === 0 ? reply : { ...reply, headers: reply.headers.with(at, address) };
  });
}

/** An action whose request has new ids in place of old ones. `addressed` is the collection of the id in the path. */
function translated(
  action: Action,
  source: Source,
  addressed: Collection | undefined,
  run: (request: Request) => Promise<Reply> | Reply,
): Action {
  const translate = (request: Request) => withNewIds(request, source, addressed);
  return {
    ...action,
    run: async (request) => {
      try {
        return await run(await translate(request));
      } catch (error) {
        const isMissing = error instanceof Problem && error.status === 404;
        const isPlain = request.type === JSON_TYPE || request.type === '';
        if (isMissing && isPlain && !wantsProblem(request)) return MISSING;
        throw error;
      }
    },
  };
}

const wantsProblem = ({ headers }: Request) => /application\/problem\+json/i.test(headers.accept ?? '');

const EMPTY = { headers: ['Content-Type', JSON_TYPE], body: '{}' } as const;
export const MISSING: Reply = { status: 404, ...EMPTY };

async function withNewIds(
  request: Request,
  source: Source,
  addressed: Collection | undefined,
): Promise<Request> {
  const { id } = request.params;
  const found = addressed && id !== undefined ? await newIdOf(addressed, id, request) : undefined;
  const params = found === undefined ? request.params : { ...request.params, id: found };
  const body = request.body && (await withReferences(request.body, source, request));
  return { ...request, params, body };
}

/** A body with new ids in its references, and without a version: clients of json-server overwrite what they do not know. */
async function withReferences(body: Body, source: Source, request: Request): Promise<Body> {
  if (!isObject(body.value) || body.type !== JSON_TYPE) return body;
  const value: JsonObject = { ...body.value };
  delete value._version;
  for (const { field, to } of singleReferences(source.collection.resource)) {
    const old: Json | undefined = member(value, field);
    const target = source.related.find(({ resource }) => resource.name === to);
    if (!target || (typeof old !== 'string' && typeof old !== 'number')) continue;
    const id = await newIdOf(target, String(old), request);
    // A form without a choice has an empty text.
    setMember(value, field, old === '' ? null : (id ?? String(old)));
  }
  return { ...body, value };
}

/** A record with the related ones that the query names. These may change while the record does not. */
async function readWithRelations(action: Action, source: Source, request: Request): Promise<Reply> {
  const query = readQuery(request.query.parameters);
  const isPlain = query.embed.length + query.expand.length === 0;
  if (isPlain || request.type !== JSON_TYPE) return action.run(request);
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => !name.startsWith('if-')),
  );
  const reply = await action.run({ ...request, headers });
  const record = JSON.parse(reply.body!) as JsonObject;
  if (!(await addRelations(source, [record], query, request))) throw pageExceeds(MAX_PAGE_BYTES);
  return {
    status: reply.status,
    headers: ['Content-Type', JSON_TYPE, 'Cache-Control', CACHE],
    body: JSON.stringify(record),
  };
}
