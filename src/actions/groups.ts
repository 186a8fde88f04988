import { MAX_PAGE_BYTES } from '../collection/document.js';
import { hashedReply, headersOf } from '../collection/representation.js';
import { pageExceeds, tooManyGroups } from '../errors/input-errors.js';
import { csvHeader, csvRow } from '../formats/csv.js';
import { GROUPS_TYPE, JSON_TYPE, NDJSON_TYPE } from '../http/media-types.js';
import { readConditions } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Collection } from '../list/open-collection.js';
import { type GroupRequest, MAX_GROUPS } from '../list/read-groups.js';
import { isLines } from './list-lines.js';

/** The response with the groups of a list: 200, 304, 400, 412, 413, 503. `more` are further header fields. */
export async function groupsReply(
  collection: Collection,
  request: Request,
  requested: GroupRequest,
  more: readonly string[],
): Promise<Reply> {
  const { groups, hasMore } = await collection.groups(requested, request.run);
  if (hasMore && requested.limit === undefined) throw tooManyGroups(MAX_GROUPS);
  const { type, headers } = request;
  const text = textOf();
  if (text.length > MAX_PAGE_BYTES) throw pageExceeds(MAX_PAGE_BYTES);
  const fields = type === JSON_TYPE ? ['Content-Type', GROUPS_TYPE] : headersOf(type);
  const reply = hashedReply(fields, text, readConditions(headers));
  return { ...reply, headers: [...reply.headers, ...more] };

  function textOf(): string {
    if (!isLines(type)) return JSON.stringify({ data: groups, meta: { groups: groups.length } });
    if (type === NDJSON_TYPE) return groups.map((group) => `${JSON.stringify(group)}\n`).join('');
    const names = [...requested.keys, ...requested.aggregates].map(({ name }) => name);
    return csvHeader(names) + groups.map((group) => csvRow(group, names)).join('');
  }
}
