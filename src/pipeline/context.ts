import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authenticate } from '../auth/authenticate.js';
import type { Presented } from '../auth/scheme.js';
import type { RequireAllowedHost } from '../http/allowed-hosts.js';
import type { Retirement } from '../http/api-version.js';
import type { CommonFields } from '../http/common-headers.js';
import type { Cors } from '../http/cors.js';
import type { Router } from '../http/router.js';
import type { ParseLimit } from '../limits/parse-limit.js';
import type { RateLimiter } from '../limits/rate-limit.js';
import type { Log } from '../telemetry/log.js';
import type { Observation, Observer } from '../telemetry/request-observer.js';
import type { BodyLimits } from '../transport/incomplete-body.js';

/** One request and its answer on their way through the steps. */
export interface RequestContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly id: string;
  readonly expectation: Expectation;
  readonly options: PipelineOptions;
  readonly observation: Observation;
  /** Fields that the answer carries whatever it is. */
  readonly common: string[];
  /** Called when nothing more is done for the request but what goes on apart. */
  readonly ended: () => void;
  bytes: Promise<Buffer> | undefined;
  /** Bytes of the body that are held as values, as `parseLimit` admitted them. */
  parsedBytes: number;
  presented: Presented | undefined;
  counted: boolean;
}

/** What the client expects before it sends its body: nothing, 100 Continue, or something we cannot meet. */
export type Expectation = 'none' | 'continue' | 'unknown';

export interface PipelineOptions extends BodyLimits {
  readonly router: Router;
  readonly log: Log;
  readonly observer: Observer;
  readonly streamStallMs: number;
  readonly parseLimit: ParseLimit;
  /** Bytes of responses that this process may hold. */
  readonly responseBytes: number;
  readonly retirement: Retirement;
  /** Undefined: nobody has to show a credential. */
  readonly authenticate: Authenticate | undefined;
  /** Throws 421; undefined: any Host is accepted. */
  readonly requireAllowedHost: RequireAllowedHost | undefined;
  /** The fields that go with a 403. */
  readonly challenge: (scope: string) => readonly string[];
  /** What of a request may carry a credential. */
  readonly present: (req: IncomingMessage, body: () => Promise<Buffer>) => Presented;
  readonly common: CommonFields;
  /** Undefined: pages of other origins are not let in. */
  readonly cors: Cors | undefined;
  /** Undefined: nobody's requests are counted. */
  readonly rateLimit: RateLimiter | undefined;
  /** Whether all but what watches the service is to be answered 503. */
  readonly isInMaintenance: () => boolean;
  /** Whether the service is stopping: then each answer closes its connection. */
  readonly isDraining: () => boolean;
}
