import type { IncomingMessage } from 'node:http';
import type { Tracer } from '@opentelemetry/api';
import { type Principal, STRANGER } from '../auth/principal.js';
import type { Peer } from '../database-url/servers.js';
import type { Log } from './log.js';
import type { HttpMetrics } from './metrics.js';
import { pathOf } from './request-path.js';
import { endRequest, type RequestSpan, startRequest, within } from './tracing.js';
import { traceWaits } from './wait-tracking.js';

export interface ObserverOptions {
  readonly metrics: HttpMetrics;
  readonly log: Log;
  /** One line for each request, at `info`. */
  readonly accessLog: boolean;
  /** Undefined: no tracing. */
  readonly tracer: Tracer | undefined;
  readonly database: Peer;
}

/** Observes a request from its head until its `end` or `abort`, whichever comes first. */
export type Observer = (req: IncomingMessage, id: string) => Observation;

/**
 * Why a response is incomplete: the client left before or during it (`left`), left while it sent the body (`body`) or
 * stopped reading (`stalled`), or an error interrupted it (`fault`).
 */
export type Abort = 'left' | 'body' | 'stalled' | 'fault';

export function createObserver(options: ObserverOptions): Observer {
  if (options.tracer) traceWaits(options.tracer);
  return (req, id) => new Observation(req, id, options);
}

/** The route label of a request that matches no route. */
const UNMATCHED = 'unmatched';

export class Observation {
  /** The template of the matching route. */
  route: string | undefined;
  /** Bytes of content. */
  received = 0;
  sent = 0;
  /** The caller, once it is known. */
  principal: Principal = STRANGER;
  private readonly startedAt = performance.now();
  private readonly method: string;
  private readonly request: RequestSpan | undefined;
  private ended = false;

  constructor(
    private readonly req: IncomingMessage,
    private readonly id: string,
    private readonly options: ObserverOptions,
  ) {
    const { method = '' } = req;
    this.method = METHODS.has(method) ? method : '_OTHER';
    options.metrics.active.value++;
    if (options.tracer) this.request = startRequest(options.tracer, req, this.method, options.database);
  }

  /** Runs the stages of the request, with its span as the active one. */
  run<T>(stages: (input: T) => Promise<void>, input: T): Promise<void> {
    return this.request ? within(this.request, () => stages(input)) : stages(input);
  }

  /** Records an internal error in the trace. */
  fault(error: unknown): void {
    this.request?.span.recordException(error instanceof Error ? error : String(error));
  }

  /** The ids of the request for logs. */
  identity(): Readonly<Record<string, string>> {
    const { id, request } = this;
    const span = request?.span.spanContext();
    return span ? { requestId: id, trace_id: span.traceId, span_id: span.spanId } : { requestId: id };
  }

  /** The complete response was handed to the socket. */
  end(status: number): void {
    this.close(status, undefined);
  }

  /** There is no response, or an incomplete one; `status` if it was sent. */
  abort(reason: Abort, status?: number): void {
    this.close(status, reason);
  }

  /** Counts the request, writes the line of the access log and ends the span. Does nothing on any further call. */
  private close(status: number | undefined, aborted: Abort | undefined): void {
    if (this.ended) return;
    this.ended = true;
    const { method, route = UNMATCHED, options, request } = this;
    const durationMs = performance.now() - this.startedAt;
    const { metrics } = options;
    metrics.active.value--;
    metrics.received.of(method, route).value += this.received;
    metrics.sent.of(method, route).value += this.sent;
    if (aborted) metrics.aborted.of(route, aborted).value++;
    else metrics.duration.of(method, route, String(status)).observe(durationMs / 1000);
    if (options.accessLog) this.log(status, aborted, durationMs);
    if (request) endRequest(request, { method, route: this.route, status, aborted });
  }

  private log(status: number | undefined, aborted: Abort | undefined, durationMs: number): void {
    const { route, options, req, principal } = this;
    options.log.info(
      {
        ...this.identity(),
        method: req.method,
        route,
        path: pathOf(req.url),
        status,
        aborted,
        durationMs: Math.round(durationMs * 1000) / 1000,
        received: this.received,
        sent: this.sent,
        ...(principal.scheme !== 'none' && { subject: principal.subject, scheme: principal.scheme }),
      },
      'request',
    );
  }
}

/** The methods of RFC 9110 section 9.3 and PATCH; any other is `_OTHER` (OpenTelemetry's conventions). */
// biome-ignore format: one name a line says no more
const METHODS = new Set([
  'GET', 'HEAD', 'QUERY', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT',
]);
