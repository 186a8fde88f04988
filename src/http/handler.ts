import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Reply } from './reply.js';

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
}

/** Responds to requests for paths that are not resources of the API: with a reply, or by writing to the response. */
export type Handler = (request: HandledRequest) => Promise<Reply | undefined>;
