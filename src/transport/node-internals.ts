import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';

/**
 * The one file that touches what is private to Node's HTTP classes. Each function has a fallback or a test in
 * test/transport/node-internals.test.ts that fails when a new version of Node changes what it relies on.
 */

/** Private fields of a socket that an HTTP server owns. */
export interface HttpSocket {
  /** The response in flight; null: there was one; undefined: there was none yet. */
  readonly _httpMessage?: (ServerResponse & { req: IncomingMessage }) | null;
  readonly _handle?: { readonly writeQueueSize: number } | null;
}

/** The response in flight on a connection. Null: none is, but there was one. Undefined: there was none yet. */
export function responseInFlight(socket: Socket): HttpSocket['_httpMessage'] {
  return (socket as unknown as HttpSocket)._httpMessage;
}

/** Bytes of a write in flight that the kernel has not accepted yet. Node's `writableLength` includes such a write whole. */
export function bytesInWriteQueue(socket: Socket): number {
  return (socket as unknown as HttpSocket)._handle?.writeQueueSize ?? 0;
}

interface ResponseInternals {
  hasForeignFields?: boolean;
  _header?: string | null;
  _keepAliveTimeout?: number;
}

/** Says that another program may have set fields of this response: Node must build its head. */
export function markForeign(res: ServerResponse): void {
  (res as ResponseInternals).hasForeignFields = true;
}

/**
 * Gives Node the head and the body of a response as one text, so that it leaves in one write. Node by itself makes two
 * writes and examines each field several times. Returns false, having changed nothing, if Node must build the head: the
 * response may be the last of its connection or have further fields, or a field is not plain ASCII.
 */
export function prepareResponse(
  res: ServerResponse,
  status: number,
  fields: readonly (readonly string[])[],
  body: string,
): boolean {
  const internals = res as ServerResponse & ResponseInternals;
  const { req } = res;
  const reason = STATUS_CODES[status];
  if (!res.shouldKeepAlive || req.httpVersion !== '1.1' || req.headers.expect !== undefined) return false;
  if (internals._header !== null || internals.hasForeignFields || reason === undefined) return false;
  let head = `HTTP/1.1 ${status} ${reason}\r\n`;
  for (const list of fields) {
    for (let at = 0; at < list.length; at += 2) {
      const [name, value] = [list[at]!, list[at + 1]!];
      const isConnection = name.length === 10 && name.toLowerCase() === 'connection';
      if (isConnection || INVALID_VALUE.test(value)) return false;
      head += `${name}: ${value}\r\n`;
    }
  }
  const idleMs = internals._keepAliveTimeout ?? 0;
  const keepAlive = idleMs === 0 ? '' : `Keep-Alive: timeout=${Math.floor(idleMs / 1000)}\r\n`;
  res.statusCode = status;
  internals._header = `${head}Date: ${httpDate()}\r\nConnection: keep-alive\r\n${keepAlive}\r\n${body}`;
  return true;
}

/** A character that a field value must not contain (RFC 9110 section 5.5), or that is not ASCII. */
const INVALID_VALUE = /[^\t\x20-\x7e]/;

let second = 0;
let date = '';

/** The value of Date, made once per second. */
function httpDate(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) {
    second = now;
    date = new Date(now * 1000).toUTCString();
  }
  return date;
}

/**
 * Prevents the timers that Node sets with each request and response, which cost a tenth of the rate of reads:
 * closeStaleConnections closes idle connections.
 */
export function preventTimers(socket: Socket): void {
  socket.setTimeout = () => socket;
}

const CLOSED = { ended: true, endEmitted: true, destroyed: true, closed: true, closeEmitted: true };

interface StreamInternals {
  _dumped?: boolean;
  readonly _readableState?: typeof CLOSED;
}

/** Whether the state of a stream of this Node can be set to closed. */
const CAN_CLOSE = setClosed(new Readable());

function setClosed(stream: Readable): boolean {
  const state = (stream as unknown as StreamInternals)._readableState;
  if (state === undefined) return false;
  const names = Object.keys(CLOSED) as (keyof typeof CLOSED)[];
  return names.every((name) => Reflect.set(state, name, true) && state[name] === true);
}

/**
 * Closes the stream of a request without content at once, instead of sending it through all its states. From 24.12 on
 * Node has an option that does the same (`optimizeEmptyRequests`).
 */
export function closeEmptyBody(req: IncomingMessage): void {
  // Without it, Node would dump the body again at the end of each response.
  if (!CAN_CLOSE) return void req.resume();
  const internals = req as unknown as { _dumped: boolean; readonly _readableState: typeof CLOSED };
  internals._dumped = true;
  // Written out, since Object.assign is several times slower here.
  const state = internals._readableState;
  state.ended = true;
  state.endEmitted = true;
  state.destroyed = true;
  state.closed = true;
  state.closeEmitted = true;
}
