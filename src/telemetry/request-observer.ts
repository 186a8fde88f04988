import type { IncomingMessage } from 'node:http';
import type { Tracer } from '@opentelemetry/api';
import type { Principal } from '../auth/principal.js';
import type { Peer } from '../database-url/servers.js';
import type { Log } from './log.js';
import type { HttpMetrics } from './metrics.js';
import { RouteCells } from './route-cells.js';
import { methodOf, pathOf } from './span-attributes.js';
import { parseTraceparent } from './traceparent.js';
import { endRequest, endWait, type RequestSpan, startRequest, startWait, within } from './tracing.js';
import { track, type Waiter } from './wait-tracking.js';

export interface ObserverOptions {
  readonly metrics: HttpMetrics;
  readonly log: Log;
  /** One line for each request, at `info`. */
  readonly accessLog: boolean;
  /** Responses have a Server-Timing field. */
  readonly serverTiming: boolean;
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
  const series = new RouteCells(options.metrics);
  return (req, id) => new Observation(req, id, options, series);
}

/** The route label of a request that matches no route. */
const UNMATCHED = 'unmatched';

export class Observation implements Waiter {
  /** The template of the matching route. */
  route: string | undefined;
  /** Bytes of content. */
  received = 0;
  sent = 0;
  private principal: Principal | undefined;
  private readonly startedAt = performance.now();
  private readonly method: string;
  private readonly request: RequestSpan | undefined;
  private ended = false;
  /** Milliseconds; a start of -1: not running. */
  private authMs = 0;
  private authSince = -1;
  private waitMs = 0;
  private waitSince = -1;
  private waiting = 0;

  constructor(
    private readonly req: IncomingMessage,
    private readonly id: string,
    private readonly options: ObserverOptions,
    private readonly series: RouteCells,
  ) {
    this.method = methodOf(req);
    options.metrics.active.value++;
    if (options.tracer) this.request = startRequest(options.tracer, req, this.method);
  }

  /** Runs the stages of the request, and attributes their waits to it if tracing or Server-Timing needs that. */
  run<T>(stages: (input: T) => Promise<void>, input: T): Promise<void> {
    const { request, options } = this;
    if (request) return within(request, () => track(this, () => stages(input)));
    return options.serverTiming ? track(this, () => stages(input)) : stages(input);
  }

  identifies(): void {
    if (this.options.serverTiming) this.authSince = performance.now();
  }

  identified(principal: Principal): void {
    this.principal = principal;
    if (!this.options.serverTiming) return;
    this.authMs = performance.now() - this.authSince;
    this.authSince = -1;
  }

  wait(name: string): (error?: unknown) => void {
    const { request, options } = this;
    // Concurrent waits count once.
    if (this.waiting++ === 0) this.waitSince = performance.now();
    const span =
      request?.span.isRecording() && options.tracer
        ? startWait(options.tracer, name, options.database, request.context)
        : undefined;
    return (error) => {
      if (--this.waiting === 0) this.waitMs += performance.now() - this.waitSince;
      if (span) endWait(span, error);
    };
  }

  /** The Server-Timing field of a response that begins now, in milliseconds; none unless configured. */
  timing(): readonly string[] {
    if (!this.options.serverTiming) return NONE;
    const now = performance.now();
    const auth = this.authSince < 0 ? this.authMs : now - this.authSince;
    const db = this.waitMs + (this.waiting > 0 ? now - this.waitSince : 0);
    const total = now - this.startedAt;
    const value = `auth;dur=${auth.toFixed(3)}, db;dur=${db.toFixed(3)}, total;dur=${total.toFixed(3)}`;
    return ['Server-Timing', value];
  }

  /** Records an internal error in the trace. */
  fault(error: unknown): void {
    this.request?.span.recordException(error instanceof Error ? error : String(error));
  }

  /** The ids of the request for logs: its own span's, or else the caller's. */
  identity(): Readonly<Record<string, string>> {
    const { id, request, req } = this;
    const own = request?.span.spanContext();
    const span = own ?? parseTraceparent(req.headers.traceparent);
    return span ? { requestId: id, trace_id: span.traceId, span_id: span.spanId } : { requestId: id };
  }

  /** The complete response was handed to the socket. */
  end(status: number): void {
    if (!this.close()) return;
    const durationMs = performance.now() - this.startedAt;
    this.series.duration(this.route ?? UNMATCHED, this.method, status).observe(durationMs / 1000);
    this.publish(status, undefined, durationMs);
  }

  /** There is no response, or an incomplete one; `status` if it was sent. */
  abort(reason: Abort, status?: number): void {
    if (!this.close()) return;
    this.options.metrics.aborted.of(this.route ?? UNMATCHED, reason).value++;
    this.publish(status, reason, performance.now() - this.startedAt);
  }

  /** Counts what `end` and `abort` have in common; false for any further call. */
  private close(): boolean {
    if (this.ended) return false;
    this.ended = true;
    this.options.metrics.active.value--;
    const { received, sent } = this.series.get(this.route ?? UNMATCHED, this.method);
    received.value += this.received;
    sent.value += this.sent;
    return true;
  }

  /** Writes the line of the access log and ends the span. */
  private publish(status: number | undefined, aborted: Abort | undefined, durationMs: number): void {
    const { method, route, options, request, req, principal } = this;
    if (options.accessLog)
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
          ...(principal &&
            principal.scheme !== 'none' && { subject: principal.subject, scheme: principal.scheme }),
        },
        'request',
      );
    if (request) endRequest(request, { method, route, status, aborted });
  }
}

const NONE: readonly string[] = [];
