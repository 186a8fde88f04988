import type { IncomingMessage, ServerResponse } from 'node:http';
import { waitingSearches } from '../db/search-queue.js';
import { type CommonFields, requestId } from '../http/common-headers.js';
import { EarlyReply } from '../http/early-reply.js';
import { isHealthCheck } from '../http/own-paths.js';
import type { Reply } from '../http/reply.js';
import { heldResponseBytes } from '../limits/response-memory.js';
import { awaitedBodies } from './arriving-body.js';
import { ConcurrencyLimit } from './concurrency-limit.js';
import { lingerOnClose } from './lingering-close.js';
import { RefusalThrottle } from './refusal-throttle.js';
import { staysUnread } from './request-body.js';
import { send } from './response-writer.js';

export interface AdmissionOptions {
  /** Requests in flight. */
  readonly maxRequests: number;
  /** Bytes of responses that this process may hold. */
  readonly responseBytes: number;
  readonly commonFields: CommonFields;
  /** Precedes the paths of links. */
  readonly publicPrefix: string;
}

/**
 * Decides, before any work is done for a request, whether the service has capacity for it. Refuses the newest first.
 * A 503 of an admitted request, such as one of a full queue, says nothing about the capacity for others.
 */
export class AdmissionControl {
  readonly #throttle = new RefusalThrottle();
  readonly #limit: ConcurrencyLimit;
  /** The response to every request that is not admitted. */
  readonly #overloaded: EarlyReply;
  #inFlight = 0;

  constructor(readonly options: AdmissionOptions) {
    this.#limit = new ConcurrencyLimit(options.maxRequests);
    this.#overloaded = new EarlyReply('The service is overloaded.', options.publicPrefix);
  }

  /** Whether the request may run; `end` is then due. Otherwise it receives a 503. */
  begin(req: IncomingMessage, res: ServerResponse, expectsContinue: boolean): boolean {
    if (isHealthCheck(req.url!) || this.#hasCapacity()) {
      this.#inFlight++;
      return true;
    }
    const respond = () =>
      refuse(req, res, expectsContinue, this.#overloaded.replyTo(req), this.options.commonFields);
    // A client whose connection closes has to connect before it repeats the request.
    if (staysUnread(req, expectsContinue)) respond();
    else this.#throttle.pass(res, respond);
    return false;
  }

  end(res: ServerResponse): void {
    this.#inFlight--;
    if (res.statusCode !== 503) this.#limit.completed();
  }

  #hasCapacity(): boolean {
    if (heldResponseBytes() > this.options.responseBytes) return false;
    // A client that is still sending its body occupies no capacity, nor does a search that waits for its turn: bodies
    // and searches have limits of their own.
    return this.#limit.admits(this.#inFlight - awaitedBodies() - waitingSearches());
  }
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
