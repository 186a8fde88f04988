import { CACHE, headersOf } from '../collection/representation.js';
import type { Run } from '../db/db.js';
import type { Problem } from '../errors/problem.js';
import { type Documents, piecesOf, type Reply } from '../http/reply.js';
import type { JsonObject } from '../json.js';
import { turn } from '../limits/turn.js';
import type { Collection } from '../list/open-collection.js';
import { arrange } from '../transport/copy-rows.js';

/** The response with a page that is too large for memory, as an array, which may have a frame, or as lines. It has no ETag. */
export function largePage(
  type: string,
  form: Pick<Documents, 'frame' | 'lines'>,
  more: readonly string[],
  read: Documents['read'],
): Reply {
  return {
    status: 200,
    headers: [...headersOf(type), 'Cache-Control', CACHE, ...more],
    content: { kind: 'documents', ...form, read },
  };
}

/** The documents of records by their ids, read one by one, without those that were deleted meanwhile. */
export async function* readDocuments(
  collection: Collection,
  ids: readonly string[],
  run: Run | undefined,
): AsyncGenerator<string> {
  for (const id of ids) {
    const found = await collection.get(id, run);
    if (typeof found === 'string') continue;
    await turn();
    yield found.doc;
  }
}

/** The records in documents that commas separate, or in one. */
export async function parsedElements(text: string): Promise<JsonObject[]> {
  await turn();
  const records = JSON.parse(`[${text}]`) as JsonObject[];
  await turn();
  return records;
}

/** The reply, with its records in one body if it has any. Throws the problem if the body has more than `max` bytes. */
export async function gathered(
  reply: Reply,
  max: number,
  tooLarge: (max: number) => Problem,
): Promise<Reply> {
  const { status, headers, content } = reply;
  if (content?.kind !== 'documents' && content?.kind !== 'rows') return reply;
  const pieces: string[] = [];
  let bytes = 0;
  const gather = async (all: AsyncIterable<string | Buffer>) => {
    for await (const piece of all) {
      bytes += Buffer.byteLength(piece);
      if (bytes > max) throw tooLarge(max);
      pieces.push(String(piece));
    }
  };
  if (content.kind === 'documents') await gather(piecesOf(content));
  else await content.open((rows) => gather(arrange(rows, content)));
  return { status, headers, body: pieces.join('') };
}
