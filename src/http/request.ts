import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Permission, Principal } from '../auth/principal.js';
import type { Run } from '../db/db.js';
import type { Problem } from '../errors/problem.js';
import type { Json } from '../json.js';
import type { HashedPassword } from '../passwords/password.js';
import type { Version } from '../versions/supported.js';
import { negotiate } from './content-negotiation.js';
import { HTML_TYPE, JSON_TYPE } from './media-types.js';
import type { Query } from './query-parameters.js';
import type { Reply } from './reply.js';

/** A parsed body, with its media type without parameters. */
export interface Body {
  readonly type: string;
  readonly value: Json;
  readonly bytes: Buffer;
  /** The bytes, in place of `value` and `bytes`, for an action that reads the media type while the body arrives. */
  readonly stream?: Content;
}

/**
 * A body that an action reads while it arrives, without its content coding. The client sends no more than the action has read,
 * besides the buffers of the connection.
 */
export interface Content {
  /** From now on the action waits at most so long for the client, in all: it holds what others need. */
  waitAtMost(ms: number): void;
  /**
   * The bytes, of which there may be `maxBytes`. Each call continues where the one before has ended. Throws 400 for data that is
   * not in its coding, 408, 413, and what ends a request whose client has left.
   */
  read(maxBytes: number): AsyncGenerator<Buffer>;
  /** The digest of the whole body, whose rest is read. Throws as `read`. */
  digest(maxBytes: number): Promise<string>;
}

/** One request as an action sees it. */
export interface Request {
  /** Identifies the request in the log and in a 500. */
  readonly id: string;
  readonly method: string;
  /** The path without its version, as links repeat it. */
  readonly path: string;
  readonly version: Version;
  /** Precedes the paths of links, as the version has them. */
  readonly prefix: string;
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: Query;
  readonly headers: IncomingHttpHeaders;
  /** The negotiated media type of the response. */
  readonly type: string;
  readonly principal: Principal;
  /** The records that the principal may access: `own` means its own records only, where the path does not decide that. */
  readonly permission: Permission;
  /** The transaction that the action is part of; undefined: each statement commits by itself. */
  readonly run: Run | undefined;
  /** Hashes that were made before the transaction began: one per operation of a batch, or a single one. */
  readonly passwordHashes?: readonly (HashedPassword | undefined)[] | undefined;
  /** Only for actions that accept a body; undefined if the request has none. */
  readonly body: Body | undefined;
}

/** A request for a handler, whose body has arrived. */
export interface HandledRequest {
  /** Has the target in origin-form, and a body that can be read again. */
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Sets the common fields of the response. A handler that writes to `res` calls it first, and then returns no reply. */
  readonly begin: () => void;
  readonly body: Buffer;
  readonly params: Readonly<Record<string, string | undefined>>;
  /** The client's address, as far as trusted proxies report it. */
  readonly address: string;
  /** The 404 of the path, for the handler of all paths that no other route has. */
  readonly missing: Problem;
}

/** Responds to requests for paths that are not resources of the API: with a reply, or by writing to the response. */
export type Handler = (request: HandledRequest) => Promise<Reply | undefined>;

/** The request that the page of an error responds to. */
export type ErrorPageRequest = Pick<
  Request,
  'id' | 'version' | 'prefix' | 'path' | 'query' | 'headers' | 'principal'
> & {
  /** Whether a browser opens the address in a window (Fetch Metadata). */
  readonly isNavigation: boolean;
  /** Whether the page may read from the database. */
  readonly reads: boolean;
};

type Field = string | string[] | undefined;

/** Whether the client prefers a response without the record: `return=minimal` (RFC 7240 section 4.2). */
export const prefersMinimal = (prefer: Field): boolean => preference(prefer, 'return') === 'minimal';

/** Whether the client accepts that a part of its request is refused: `handling=lenient` (RFC 7240 section 4.4). */
export const prefersLenient = (prefer: Field): boolean => preference(prefer, 'handling') === 'lenient';

/** Whether the client prefers a response before the work is done: `respond-async` (RFC 7240 section 4.1). */
export const prefersAsync = (prefer: Field): boolean => preference(prefer, 'respond-async') !== undefined;

/** Seconds that the client is willing to wait: `wait=20` (RFC 7240 section 4.3). 0: no such preference. */
export const preferredWait = (prefer: Field): number => {
  const value = preference(prefer, 'wait') ?? '';
  return /^\d{1,9}$/.test(value) ? Number(value) : 0;
};

/** The value of a preference in lower case; undefined: there is none. If it is repeated, the first applies (section 2). */
function preference(prefer: Field, name: string): string | undefined {
  for (const member of String(prefer ?? '').match(MEMBER) ?? []) {
    const [, found, value = ''] = PREFERENCE.exec(member.replaceAll(/[ \t]/g, '')) ?? [];
    if (found?.toLowerCase() === name) return value.toLowerCase();
  }
  return undefined;
}

/** A preference with its value, before its parameters. */
const PREFERENCE = /^([\w-]+)(?:="?([^";]*)"?)?(?:;|$)/;

/** Text between commas outside quoted strings. */
const MEMBER = /(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g;

/** Whether Accept prefers a page to data, as that of browsers does. */
export function prefersPage(accept: string | undefined): boolean {
  return accept?.includes('html') === true && negotiate(accept, DATA_OR_PAGE) === HTML_TYPE;
}

const DATA_OR_PAGE = [JSON_TYPE, HTML_TYPE];
