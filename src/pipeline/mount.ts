import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { noSuchPath } from '../errors/request-errors.js';
import { PLAIN_FIELDS } from '../http/common-headers.js';
import { render } from '../http/problem-body.js';
import { refuse } from '../transport/admission-control.js';
import { markForeign } from '../transport/node-internals.js';

/** A request of another server. Express removes its own path from `url`, and leaves `originalUrl`. */
export type ForeignRequest = IncomingMessage & { readonly originalUrl?: string };

const SWEEP_MS = 20;

/** Passes the requests that another HTTP server receives below a path to a server that does not listen itself. */
export class Mount {
  readonly #inFlight = new Set<ServerResponse>();

  constructor(
    readonly server: Server,
    /** Without a slash at the end; empty: the root. */
    readonly path: string,
  ) {}

  /** Handles a request below the path. Others go to `next`; without it they are 404. */
  handle(req: ForeignRequest, res: ServerResponse, next?: () => void): void {
    const target = targetBelow(this.path, req.originalUrl ?? req.url ?? '');
    if (target === undefined)
      return next ? next() : refuse(req, res, false, render(noSuchPath(), ''), PLAIN_FIELDS);
    req.url = target;
    markForeign(res);
    this.#inFlight.add(res);
    res.once('close', () => this.#inFlight.delete(res));
    this.server.emit('request', req, res);
  }

  /** Resolves when no request is in flight; after `ms`, the connections of the remaining ones are closed. */
  async drain(ms: number): Promise<void> {
    const deadline = performance.now() + ms;
    while (this.#inFlight.size > 0) {
      if (performance.now() >= deadline) for (const res of this.#inFlight) res.destroy();
      await new Promise((resolve) => setTimeout(resolve, SWEEP_MS));
    }
  }
}

function targetBelow(path: string, url: string): string | undefined {
  if (!url.startsWith(path)) return undefined;
  const rest = url.slice(path.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : undefined;
}
