import { codingNotAcceptable } from '../errors/request-errors.js';
import { type Coding, codedEtag, negotiateCoding, RESPONSE_CODINGS } from '../http/content-coding.js';
import type { Reply } from '../http/reply.js';
import { RESPONSES } from '../limits/byte-budget.js';
import { compressBody } from '../transport/codecs.js';
import { WorkSlots } from '../work/shared-runs.js';
import type { RequestContext } from './context.js';

/** Bodies that are compressed at a time, and that wait. Node's pool has four threads, which hash passwords as well. */
const slots = new WorkSlots(2, 64);

/** Throws 406 if Accept-Encoding excludes every coding and a response without one (RFC 9110 section 12.5.3). */
export function requireCoding({ req, options }: RequestContext): void {
  const accepted = req.headers['accept-encoding'];
  if (accepted === undefined || !options.compression) return;
  const { coding, refusesIdentity } = negotiateCoding(accepted);
  if (coding === undefined && refusesIdentity) throw codingNotAcceptable(RESPONSE_CODINGS);
}

/** The coding in which to send a reply: a stream, or a body that is worth it. Undefined: as it is. */
export function codingOf({ req, options }: RequestContext, reply: Reply): Coding | undefined {
  const accepted = req.headers['accept-encoding'];
  if (accepted === undefined || !options.compression) return undefined;
  if (reply.body === undefined && reply.content === undefined) return undefined;
  const { coding, refusesIdentity } = negotiateCoding(accepted);
  if (coding === undefined) return undefined;
  const isWorthIt =
    reply.body === undefined ||
    (reply.body !== '' && refusesIdentity) ||
    Buffer.byteLength(reply.body) >= Math.max(1, options.compressionMinBytes);
  return isWorthIt && isText(reply) ? coding : undefined;
}

function isText({ headers }: Reply): boolean {
  const type = headers[headers.indexOf('Content-Type') + 1] ?? '';
  return /^text\/|json/.test(type);
}

/**
 * The reply with the fields of a coding. The ETag is that of the coded representation; an error's ETag is that of the
 * record as it is.
 */
export function withCoding(reply: Reply, coding: Coding): Reply {
  const { status } = reply;
  const headers = reply.headers.map((field, at) =>
    at % 2 === 1 && status < 300 && reply.headers[at - 1] === 'ETag' ? codedEtag(field, coding) : field,
  );
  return { ...reply, headers: [...headers, 'Content-Encoding', coding] };
}

/** Compresses a body. Undefined: too many are being compressed, and this one is to be sent as it is. */
export async function compressed(body: string, coding: Coding): Promise<Buffer | undefined> {
  RESPONSES.add(body.length);
  try {
    return await slots.run(() => compressBody[coding](body));
  } finally {
    RESPONSES.add(-body.length);
  }
}
