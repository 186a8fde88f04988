import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CommonFields } from '../http/common-headers.js';
import { isHealthCheck } from '../http/health-check.js';
import { Refusal } from '../http/refusal.js';
import type { Reply } from '../http/reply.js';
import { requestId } from '../http/request-id.js';
import { heldResponseBytes } from '../limits/response-memory.js';
import { awaitedBodies } from './arriving-body.js';
import { ConcurrencyLimit } from './concurrency-limit.js';
import { lingerOnClose } from './lingering-close.js';
import { staysUnread } from './request-body.js';
import { send } from './response-writer.js';
import { RetryThrottle } from './retry-throttle.js';

export interface AdmissionOptions {
  /** Requests in flight. */
  readonly maxRequests: number;
  /** Bytes of responses that this process may hold. */
  readonly responseBytes: number;
  readonly maxConnections: number;
  readonly commonFields: CommonFields;
  /** Precedes the paths of links. */
  readonly publicPrefix: string;
}

/** Decides, before any work is done for a request, whether the service has capacity for it. Refuses the newest first. */
export class AdmissionControl {
  readonly #throttle: RetryThrottle;
  readonly #limit: ConcurrencyLimit;
  /** The response to every request that is not admitted. */
  readonly #overloaded: Refusal;
  #inFlight = 0;

  constructor(readonly options: AdmissionOptions) {
    this.#throttle = new RetryThrottle(options.maxConnections / 4);
    this.#limit = new ConcurrencyLimit(options.maxRequests);
    this.#overloaded = new Refusal('The service is overloaded.', options.publicPrefix);
  }

  /** Whether the request may run; `end` is then due. Otherwise it has received a 503. */
  begin(req: IncomingMessage, res: ServerResponse, expectsContinue: boolean): boolean {
    if (isHealthCheck(req.url!) || this.#hasCapacity(req)) {
      this.#inFlight++;
      return true;
    }
    refuse(req, res, expectsContinue, this.#overloaded.replyTo(req), this.options.commonFields);
    this.#throttle.refused(req.socket);
    return false;
  }

  end(req: IncomingMessage, res: ServerResponse): void {
    this.#inFlight--;
    if (res.statusCode !== 503) return this.#limit.completed();
    if (isHealthCheck(req.url!)) return;
    // A later queue had no capacity for it, or the database did not respond.
    this.#limit.refused();
    this.#throttle.refused(req.socket);
  }

  #hasCapacity(req: IncomingMessage): boolean {
    if (heldResponseBytes() > this.options.responseBytes) return false;
    // A client that is still sending its body occupies no capacity; its body has limits of its own.
    return this.#limit.admits(this.#inFlight - awaitedBodies(), this.#throttle.isRetry(req.socket));
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
