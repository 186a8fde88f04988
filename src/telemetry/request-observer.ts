import type { IncomingMessage } from 'node:http';
import type { Tracer } from '@opentelemetry/api';
import type { Principal } from '../principal.js';
import type { Peer } from './database-address.js';
import type { Log } from './log.js';
import type { HttpMetrics } from './metrics.js';
import { methodOf, pathOf } from './request-attributes.js';
import { lookUpOnce, type SeriesCache } from './series-cache.js';
import { parseTraceparent } from './traceparent.js';
import { endRequest, endWait, type RequestSpan, startRequest, startWait, within } from './tracing.js';
import { track, type Waiter } from './wait-tracking.js';

export interface ObserverOptions {
  readonly metrics: HttpMetrics;
  readonly log: Log;
  /** A line a request, at `info`. */
  readonly accessLog: boolean;
  /** Answers tell how long they took. */
  readonly serverTiming: boolean;
  /** Undefined: nothing is traced. */
  readonly tracer: Tracer | undefined;
  readonly database: Peer;
}

/** Begins to observe a request that has its head. Each is ended or aborted, once. */
export type Observer = (req: IncomingMessage, id: string) => Observation;

/** Why an answer is not whole: the client left before it, within its body, within ours, stalled; or we failed. */
export type Abort = 'left' | 'body' | 'stalled' | 'fault';

/** What all requests share: the series that were looked up once. 0.2 us a request, with nothing made but itself. */
export function createObserver(options: ObserverOptions): Observer {
  const seriesOf = lookUpOnce(options.metrics);
  return (req, id) => new Observation(req, id, options, seriesOf);
}

/** The route of what found none. */
const UNMATCHED = 'unmatched';

export class Observation implements Waiter {
  /** The template of the route that was found. */
  route: string | undefined;
  /** Bytes of content. */
  received = 0;
  sent = 0;
  private principal: Principal | undefined;
  private readonly startedAt = performance.now();
  private readonly method: string;
  private readonly request: RequestSpan | undefined;
  private ended = false;
  /** Milliseconds; a start of -1: not under way. */
  private authMs = 0;
  private authSince = -1;
  private waitMs = 0;
  private waitSince = -1;
  private waiting = 0;

  constructor(
    private readonly req: IncomingMessage,
    private readonly id: string,
    private readonly options: ObserverOptions,
    private readonly seriesOf: ReturnType<typeof lookUpOnce>,
  ) {
    this.method = methodOf(req);
    options.metrics.active.value++;
    if (options.tracer) this.request = startRequest(options.tracer, req, this.method);
  }

  /** Runs the steps of the request, so that what it waits for is known as its own where anybody asks. */
  run<T>(steps: (given: T) => Promise<void>, given: T): Promise<void> {
    const { request, options } = this;
    if (request) return within(request, () => track(this, () => steps(given)));
    return options.serverTiming ? track(this, () => steps(given)) : steps(given);
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
    // Waits at the same time count once.
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

  /** The fields of Server-Timing for an answer that begins now, when the operator asked for them; milliseconds. */
  timing(): readonly string[] {
    if (!this.options.serverTiming) return NONE;
    const now = performance.now();
    const auth = this.authSince < 0 ? this.authMs : now - this.authSince;
    const db = this.waitMs + (this.waiting > 0 ? now - this.waitSince : 0);
    const total = now - this.startedAt;
    const value = `auth;dur=${auth.toFixed(3)}, db;dur=${db.toFixed(3)}, total;dur=${total.toFixed(3)}`;
    return ['Server-Timing', value];
  }

  /** A fault that the request met: for its trace. */
  fault(error: unknown): void {
    this.request?.span.recordException(error instanceof Error ? error : String(error));
  }

  /** What identifies the request in logs: the span of its own, or else the caller's. */
  identity(): Readonly<Record<string, string>> {
    const { id, request, req } = this;
    const own = request?.span.spanContext();
    const found = own ?? parseTraceparent(req.headers.traceparent);
    return found ? { requestId: id, trace_id: found.traceId, span_id: found.spanId } : { requestId: id };
  }

  /** Its answer was handed to the socket whole. */
  end(status: number): void {
    const series = this.close();
    if (!series) return;
    const took = performance.now() - this.startedAt;
    let duration = series.durations.get(status);
    if (!duration) {
      const { route = UNMATCHED, method } = this;
      duration = this.options.metrics.duration.of(method, route, String(status));
      series.durations.set(status, duration);
    }
    duration.observe(took / 1000);
    if (this.request || this.options.accessLog) this.tell(status, undefined, took);
  }

  /** It has no answer, or half of one; `status` when that was sent. */
  abort(reason: Abort, status?: number): void {
    if (!this.close()) return;
    this.options.metrics.aborted.of(this.route ?? UNMATCHED, reason).value++;
    if (this.request || this.options.accessLog) this.tell(status, reason, performance.now() - this.startedAt);
  }

  /** Counts what every end has in common; undefined when it has ended before. */
  private close(): SeriesCache | undefined {
    if (this.ended) return undefined;
    this.ended = true;
    this.options.metrics.active.value--;
    const series = this.seriesOf(this.route ?? UNMATCHED, this.method);
    series.received.value += this.received;
    series.sent.value += this.sent;
    return series;
  }

  private tell(status: number | undefined, aborted: Abort | undefined, took: number): void {
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
          durationMs: Math.round(took * 1000) / 1000,
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
