import type { IncomingMessage, ServerResponse } from 'node:http';
import { unavailable } from '../errors.js';
import { awaitedBodies, hasBody, staysUnread } from './body.js';
import { lingerOnClose } from './linger.js';
import { createPace } from './pace.js';
import { render } from './problem.js';
import { type Reply, send, unreadBytes } from './reply.js';

export interface AdmissionOptions {
  /** Requests in flight at once. */
  readonly maxRequests: number;
  /** Bytes of answers that nobody has read yet. */
  readonly answerBytes: number;
}

/** Decides, before anything is done for a request, whether there is room for it. */
export interface Admission {
  /** Whether the request may run; `end` is then due. When not, it has been answered 503. */
  begin(req: IncomingMessage, res: ServerResponse, expected: boolean): boolean;
  readonly end: () => void;
}

/** The same answer for everybody who finds no room. */
const BUSY = ready('The service is overloaded.');

/** What watches the service is answered all the same. */
const WATCH = /^(?:\/api\/v1)?\/(?:healthz|readyz)(?:\?|$)/;

/** So many are never a queue. */
const LEAST = 64;
/** What waits for longer, when that goes on for longer than a burst does, is a queue that only makes everybody late. */
const MOST_WAIT_MS = 100;
const BURST_MS = 500;
const WINDOW_MS = 100;

/**
 * How many may be in flight: as many as are configured, or, when there has been a queue for longer than a burst, as
 * many as are answered in a tenth of a second. Latency is what is in flight by what is done in a second (Little's law),
 * so a bound of the one bounds the other, for what is fast and for what is slow.
 */
function createRoom(most: number) {
  let [busySince, windowSince, done, room] = [-1, 0, 0, most];
  return {
    /** With so many in flight. */
    of: (inFlight: number): number => {
      if (inFlight < LEAST) return most;
      const now = performance.now();
      if (busySince < 0) {
        [busySince, windowSince, done, room] = [now, now, 0, most];
      } else if (now - windowSince >= WINDOW_MS) {
        const answered = (done / (now - windowSince)) * MOST_WAIT_MS;
        room = now - busySince < BURST_MS ? most : Math.min(most, Math.max(LEAST, answered));
        [windowSince, done] = [now, 0];
      }
      return room;
    },
    /** One was answered, and so many are left. */
    ended: (inFlight: number): void => {
      done++;
      if (inFlight < LEAST / 2) busySince = -1;
    },
  };
}

/** What comes on top of what there is room for is refused, the newest first: who has waited is nearer to an answer. */
export function createAdmission({ maxRequests, answerBytes }: AdmissionOptions): Admission {
  const pace = createPace();
  const room = createRoom(maxRequests);
  let inFlight = 0;
  return {
    begin: (req, res, expected) => {
      // A client that takes its time to send takes nobody's place; what it sends is bounded in bytes.
      const active = inFlight - awaitedBodies();
      // What was held back is old, and taken only when there would be nothing else to do.
      const most = pace.isLate(req.socket) ? room.of(active) / 8 : room.of(active);
      if ((active >= most || unreadBytes() > answerBytes) && !WATCH.test(req.url!)) {
        turnAway(req, res, expected, BUSY);
        pace.hold(req.socket);
        return false;
      }
      inFlight++;
      return true;
    },
    end: () => {
      inFlight--;
      room.ended(inFlight);
    },
  };
}

/** Answers a request without having looked at it. */
export function turnAway(req: IncomingMessage, res: ServerResponse, expected: boolean, reply: Reply): void {
  if (!hasBody(req)) req.resume();
  const unread = staysUnread(req, expected);
  if (unread) lingerOnClose(req.socket);
  send(res, reply, unread ? CLOSE : []);
}

const CLOSE = ['Connection', 'close'];

/** A 503 that is made once. */
export function ready(message: string): Reply {
  const { status, headers, body } = render(unavailable(message), false, '');
  return { status, headers: [...headers, 'X-Content-Type-Options', 'nosniff'], body };
}
