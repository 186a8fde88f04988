import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authenticate, FindSession } from '../auth/authenticate.js';
import type { Principal } from '../auth/principal.js';
import type { AuthRequest } from '../auth/scheme.js';
import type { Problem } from '../errors/problem.js';
import type { RequireAllowedHost } from '../http/allowed-hosts.js';
import type { CommonFields } from '../http/common-headers.js';
import type { Cors } from '../http/cors.js';
import type { ErrorPage } from '../http/reply.js';
import type { ErrorPageRequest } from '../http/request.js';
import type { RequireOrigin } from '../http/request-origin.js';
import type { Router } from '../http/router.js';
import type { ParseLimit } from '../limits/parse-limit.js';
import type { RateLimiter } from '../limits/rate-limit.js';
import type { CounterValue, LabelledMetric } from '../telemetry/instruments.js';
import type { Log } from '../telemetry/log.js';
import type { Observation, Observer } from '../telemetry/request-observer.js';
import type { Expectation } from '../transport/admission-control.js';
import type { BodyStream } from '../transport/body-stream.js';
import type { BodyLimits } from '../transport/request-body.js';
import type { Target } from '../transport/request-target.js';
import { isRetiring, prefixOf, type Retirement, VERSIONS, type Version } from '../versions/supported.js';

/** One request and its response on their way through the stages. */
export interface RequestContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly id: string;
  readonly expectation: Expectation;
  readonly options: PipelineOptions;
  readonly versions: ServedVersions;
  /** The version of the request; undefined while its target has not been read. */
  served: ServedVersion | undefined;
  readonly observation: Observation;
  /** Fields of the response, whatever it is. Stages add to them. */
  readonly common: string[];
  /** Called when the stages are done; a stream may continue. */
  readonly ended: () => void;
  bytes: Promise<Buffer> | undefined;
  /** Bytes of the body that `parseLimit` has admitted. */
  parsedBytes: number;
  /** The body, if the action reads it while it arrives. */
  stream: BodyStream | undefined;
  authRequest: AuthRequest | undefined;
  /** Whether the request was counted against a rate limit. */
  isRateCounted: boolean;
  /** Undefined while it has not been read. */
  target: Target | undefined;
}

/** Whether the service accepts requests. */
export interface ServiceState {
  /** Only endpoints that are always available respond. */
  readonly isInMaintenance: boolean;
  /** The service is stopping, so that each response closes its connection. */
  readonly isDraining: boolean;
}

export interface PipelineOptions extends BodyLimits, VersionSettings {
  readonly router: Router;
  readonly log: Log;
  readonly observer: Observer;
  readonly parseLimit: ParseLimit;
  /** Bytes of responses that this process may hold. */
  readonly responseBytes: number;
  /** Shorter bodies are sent as they are. */
  readonly compressionMinBytes: number;
  /** Undefined: no request needs a credential. */
  readonly authenticate: Authenticate | undefined;
  /** The user that has signed in in a browser; undefined: the service is not an authorization server. */
  readonly session: FindSession | undefined;
  /** The page about an error for a browser; undefined: the body is the same in each media type. */
  readonly errorPage: (request: ErrorPageRequest, problem: Problem) => Promise<ErrorPage | undefined>;
  /** Throws 421; undefined: any Host is allowed. */
  readonly requireAllowedHost: RequireAllowedHost | undefined;
  /** Throws 403 for a write that a page of another site had its browser send. */
  readonly requireOrigin: RequireOrigin;
  /** The challenge fields of a 403 for a missing scope. */
  readonly challenge: (scope: string) => readonly string[];
  /** Extracts what may carry a credential from a request. */
  readonly readAuthRequest: (req: IncomingMessage, body: () => Promise<Buffer>) => AuthRequest;
  readonly commonFields: CommonFields;
  /** Undefined: pages of other origins have no access. */
  readonly cors: Cors | undefined;
  /** Undefined: there is no rate limit. */
  readonly rateLimit: RateLimiter | undefined;
  /**
   * Called after an action that may have written, when its transaction is committed. May add fields to the response, and
   * then returns a promise, which does not reject.
   */
  readonly afterWrite: (principal: Principal, fields: string[]) => Promise<void> | undefined;
  readonly state: ServiceState;
}

/** A version as this service has it. */
export interface ServedVersion {
  readonly version: Version;
  /** Precedes the paths of links. */
  readonly prefix: string;
  /** Undefined: the version does not retire. */
  readonly retirement: Retirement | undefined;
  /** The number of requests. */
  readonly requests: CounterValue;
  /** The fields of the version, by whether the path names it. */
  readonly pathFields: readonly string[];
  readonly rootFields: readonly string[];
}

type ServedVersions = ReadonlyMap<Version, ServedVersion>;

interface VersionSettings {
  /** Precedes the paths of version 1. */
  readonly publicPrefix: string;
  /** Whether responses are compressed for clients that accept it. */
  readonly compression: boolean;
  /** By the number of the version. */
  readonly retirement: Readonly<Record<string, Retirement>>;
  /** Counts the requests by version. */
  readonly versionRequests: LabelledMetric<CounterValue>;
}

/** All versions, so that a request finds what is always the same for its own. */
export function servedVersions({
  publicPrefix,
  compression,
  retirement,
  versionRequests,
}: VersionSettings): ServedVersions {
  // A response without a coding depends on Accept-Encoding, too (RFC 9110 section 12.5.5).
  const coded = compression ? ', Accept-Encoding' : '';
  return new Map(
    VERSIONS.map((version): [Version, ServedVersion] => {
      const given = retirement[version.number];
      const served = {
        version,
        prefix: prefixOf(version, publicPrefix),
        retirement: given && isRetiring(given) ? given : undefined,
        requests: versionRequests.of(version.number),
        pathFields: ['API-Version', version.number, 'Vary', `Accept${coded}`],
        rootFields: ['API-Version', version.number, 'Vary', `Accept, API-Version${coded}`],
      };
      return [version, served];
    }),
  );
}
