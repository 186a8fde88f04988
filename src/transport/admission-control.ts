import type { IncomingMessage, ServerResponse } from 'node:http';
import { unavailable } from '../errors.js';
import type { CommonFields } from '../http/common-headers.js';
import { isHealthCheck } from '../http/health-check.js';
import { render } from '../http/problem-body.js';
import type { Reply } from '../http/reply.js';
import { requestId } from '../http/request-id.js';
import { heldResponseBytes } from '../limits/response-memory.js';
import { createConcurrencyLimit } from './concurrency-limit.js';
import { awaitedBodies } from './incomplete-body.js';
import { lingerOnClose } from './lingering-close.js';
import { staysUnread } from './request-body.js';
import { send } from './response-writer.js';
import { createRetryThrottle } from './retry-throttle.js';

export interface AdmissionOptions {
  /** Requests in flight at once. */
  readonly maxRequests: number;
  /** Bytes of responses that this process holds. */
  readonly responseBytes: number;
  readonly maxConnections: number;
  readonly common: CommonFields;
}

/** Decides, before anything is done for a request, whether there is room for it. */
export interface Admission {
  /** Whether the request may run; `end` is then due. When not, it has been answered 503. */
  begin(req: IncomingMessage, res: ServerResponse, expected: boolean): boolean;
  end(req: IncomingMessage, res: ServerResponse): void;
}

/** The same answer for everybody who finds no room. */
const BUSY = ready('The service is overloaded.');

/** What there is no room for is refused, the newest first: who has waited is nearer to an answer. */
export function createAdmission(options: AdmissionOptions): Admission {
  const { maxRequests, responseBytes, maxConnections, common } = options;
  const throttle = createRetryThrottle(maxConnections / 4);
  const limit = createConcurrencyLimit(maxRequests);
  let inFlight = 0;
  return {
    begin: (req, res, expected) => {
      // A client that takes its time to send takes nobody's place; what it sends is bounded in bytes.
      const hasRoom = () => limit.hasRoom(inFlight - awaitedBodies(), throttle.isLate(req.socket));
      if (!isHealthCheck(req.url!) && (heldResponseBytes() > responseBytes || !hasRoom())) {
        turnAway(req, res, expected, BUSY, common);
        throttle.hold(req.socket);
        return false;
      }
      inFlight++;
      return true;
    },
    end: (req, res) => {
      inFlight--;
      if (res.statusCode !== 503) return limit.answered();
      // A queue further on had no room for it, or the database did not answer. Who watches is read at once.
      if (isHealthCheck(req.url!)) return;
      limit.refused();
      throttle.hold(req.socket);
    },
  };
}

/** Answers a request without having looked at it. */
export function turnAway(
  req: IncomingMessage,
  res: ServerResponse,
  expected: boolean,
  reply: Reply,
  common: CommonFields,
): void {
  const unread = staysUnread(req, expected);
  if (unread) lingerOnClose(req.socket);
  const fields = common(req, requestId(req));
  send(res, reply, unread ? [...fields, ...CLOSE] : fields);
}

const CLOSE = ['Connection', 'close'];

/** A 503 that is made once. */
export function ready(message: string): Reply {
  return render(unavailable(message), false, '');
}
