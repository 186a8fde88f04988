import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { waitingSearches } from '../db/db.js';
import { type Bound, beyond } from '../errors/service-errors.js';
import { type CommonFields, requestId } from '../http/common-headers.js';
import { earlyReplies, isHealthCheck } from '../http/early-reply.js';
import type { Reply } from '../http/reply.js';
import { RESPONSES } from '../limits/byte-budget.js';
import { ConcurrencyLimit } from './concurrency-limit.js';
import { inRequestOrder, isLingering, limitConnections, lingerOnClose } from './connections.js';
import type { Refused } from './parse-errors.js';
import { RefusalThrottle } from './refusal-throttle.js';
import { awaitedBodies, hasUnknownLength, staysUnread } from './request-body.js';
import { send } from './response-writer.js';

export interface AdmissionOptions {
  readonly maxConnections: number;
  /** Requests in flight. */
  readonly maxRequests: number;
  /** Bytes of responses that this process may hold. */
  readonly responseBytes: number;
  readonly commonFields: CommonFields;
  /** Precedes the paths of links. */
  readonly publicPrefix: string;
}

/** The expectation of the client before it sends its body: nothing, 100 Continue, or something unsupported. */
export type Expectation = 'none' | 'continue' | 'unknown';

type Handle = (req: IncomingMessage, res: ServerResponse, expectation: Expectation) => void;

/** Runs an admitted request. `ended` is due when the request no longer counts as in flight. */
export type Run = (...request: [...Parameters<Handle>, ended: () => void]) => void;

/** The bounds of a request that has not been read. */
type EarlyBound = Extract<Bound, 'connections' | 'pipelined' | 'requests'>;

/**
 * Decides about each request, in the order of its connection and before any work is done for it, whether the service has
 * capacity: runs it, or responds with 503. Refuses the newest first. A 503 of an admitted request, such as one of a full
 * queue, says nothing about the capacity for others.
 */
export class AdmissionControl {
  readonly #throttle = new RefusalThrottle();
  readonly #limit: ConcurrencyLimit;
  readonly #isSurplus: (socket: Socket) => boolean;
  readonly #replies: Readonly<Record<EarlyBound, ReturnType<typeof earlyReplies>>>;
  #inFlight = 0;

  /** `refused` counts the responses to requests that are not admitted. */
  constructor(
    server: Server | TlsServer,
    readonly options: AdmissionOptions,
    readonly run: Run,
    readonly refused: Refused,
  ) {
    this.#limit = new ConcurrencyLimit(options.maxRequests);
    this.#isSurplus = limitConnections(server, options.maxConnections);
    const replyOf = (bound: EarlyBound) => earlyReplies(beyond(bound), options.publicPrefix);
    this.#replies = {
      connections: replyOf('connections'),
      pipelined: replyOf('pipelined'),
      requests: replyOf('requests'),
    };
  }

  readonly #begin: Handle = (req, res, expectation) => {
    if (isLingering(req.socket)) return void req.resume();
    if (hasUnknownLength(req)) closeAfter(req, res);
    const bound = this.#exceeded(req);
    if (bound) return this.#refuse(bound, req, res, expectation);
    this.#inFlight++;
    this.run(req, res, expectation, () => {
      this.#inFlight--;
      if (res.statusCode !== 503) this.#limit.completed++;
    });
  };

  readonly handle: Handle = inRequestOrder(this.#begin, (req, res, expectation) =>
    this.#refuse('pipelined', req, res, expectation),
  );

  /** The bound that a request exceeds; undefined: it is admitted. */
  #exceeded(req: IncomingMessage): EarlyBound | undefined {
    if (this.#isSurplus(req.socket)) return 'connections';
    const isFull =
      RESPONSES.held > this.options.responseBytes || !this.#limit.admits(this.#inFlight, waiting);
    return isFull && !isHealthCheck(req.url!) ? 'requests' : undefined;
  }

  #refuse(bound: EarlyBound, req: IncomingMessage, res: ServerResponse, expectation: Expectation): void {
    const expectsContinue = expectation === 'continue';
    const respond = () =>
      refuse(req, res, expectsContinue, this.#replies[bound](req), this.options.commonFields);
    if (this.refused) this.refused.of('503').value++;
    if (bound !== 'requests') closeAfter(req, res);
    // A client whose connection closes has to connect before it repeats the request.
    if (bound !== 'requests' || staysUnread(req, expectsContinue)) respond();
    else this.#throttle.pass(res, respond);
  }
}

/**
 * The requests that occupy no capacity: a client is still sending its body, or a search waits for its turn. Bodies and searches
 * have limits of their own.
 */
const waiting = (): number => awaitedBodies() + waitingSearches();

function closeAfter({ socket }: IncomingMessage, res: ServerResponse): void {
  res.shouldKeepAlive = false;
  lingerOnClose(socket);
}

/** Responds to a request without having examined it. */
export function refuse(
  req: IncomingMessage,
  res: ServerResponse,
  expectsContinue: boolean,
  reply: Reply,
  common: CommonFields,
): void {
  const isUnread = staysUnread(req, expectsContinue);
  if (isUnread) lingerOnClose(req.socket);
  const fields = common(req, requestId(req));
  send(res, reply, isUnread ? [...fields, 'Connection', 'close'] : fields);
}
