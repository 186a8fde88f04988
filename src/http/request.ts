import type { IncomingHttpHeaders } from 'node:http';
import type { Run } from '../db/db.js';
import type { Json } from '../json.js';
import type { HashedPassword } from '../passwords/password.js';
import type { Permission, Principal } from '../principal.js';

/** A body that was read: its media type without parameters, and the JSON in it. */
export interface Body {
  readonly type: string;
  readonly value: Json;
  readonly bytes: Buffer;
}

/** One request as an action sees it. */
export interface Request {
  /** Identifies the request in the log and in a 500. */
  readonly id: string;
  readonly method: string;
  /** The path without a version prefix, as links repeat it. */
  readonly path: string;
  readonly params: Readonly<Record<string, string | undefined>>;
  /** The query without its question mark. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  /** The media type negotiated among those the action offers. */
  readonly type: string;
  readonly principal: Principal;
  /** What the principal may do: with `own`, only what is its own, where the path does not tell. */
  readonly permission: Permission;
  /** The transaction that the action is part of; undefined: each statement is its own. */
  readonly run: Run | undefined;
  /** Hashes made before the transaction began, one for each operation of a batch, or one alone. */
  readonly passwordHashes?: readonly (HashedPassword | undefined)[] | undefined;
  /** Only for actions that take a body; undefined when the request has none. */
  readonly body: Body | undefined;
}
