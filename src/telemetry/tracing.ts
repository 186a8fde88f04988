import type { IncomingMessage } from 'node:http';
import {
  type Attributes,
  type Context,
  context,
  ProxyTracerProvider,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { Peer } from './database-address.js';
import { pathOf, schemeOf } from './request-attributes.js';

/** A request's span, and the context that its children start from. */
export interface RequestSpan {
  readonly span: Span;
  readonly context: Context;
}

/** The tracer of the SDK that the operator loaded before the service; undefined: there is none, and nothing is traced. */
export function findTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider
    ? provider.getDelegateTracer('plinth')
    : provider.getTracer('plinth');
}

const GETTER = {
  keys: (headers: IncomingMessage['headers']) => Object.keys(headers),
  get: (headers: IncomingMessage['headers'], name: string) => headers[name.toLowerCase()],
};

/**
 * Starts the span of a request, below the caller's as its fields tell (OpenTelemetry's semantic conventions for HTTP
 * servers, stable). The query is left out: it may hold what is nobody else's business.
 */
export function startRequest(tracer: Tracer, req: IncomingMessage, method: string): RequestSpan {
  const { headers, socket } = req;
  const parent = propagation.extract(ROOT_CONTEXT, headers, GETTER);
  const host = /^(\[[^\]]{1,64}\]|[^:]{1,255})(?::(\d{1,5}))?$/.exec(headers.host ?? '');
  const attributes: Attributes = {
    'http.request.method': method,
    'url.path': pathOf(req.url),
    'url.scheme': schemeOf(req),
    'network.protocol.version': req.httpVersion,
  };
  if (method !== req.method && req.method) attributes['http.request.method_original'] = req.method;
  if (host) attributes['server.address'] = host[1]!;
  if (host?.[2]) attributes['server.port'] = Number(host[2]);
  if (socket.remoteAddress) attributes['network.peer.address'] = socket.remoteAddress;
  if (socket.remotePort) attributes['network.peer.port'] = socket.remotePort;
  if (headers['user-agent']) attributes['user_agent.original'] = headers['user-agent'].slice(0, 256);
  const name = method === '_OTHER' ? 'HTTP' : method;
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
  return { span, context: trace.setSpan(parent, span) };
}

/** Runs what a request does with its span as the active one, for whatever else traces itself. */
export function within<T>(request: RequestSpan, work: () => T): T {
  return context.with(request.context, work);
}

/** How a request ended: `status` undefined where no answer was given; `aborted`: why it is not whole. */
export interface Outcome {
  readonly method: string;
  readonly route: string | undefined;
  readonly status: number | undefined;
  readonly aborted: string | undefined;
}

/** Ends the span of a request. Only what is our fault is an error: 5xx, and an answer that broke off in a fault. */
export function endRequest({ span }: RequestSpan, { method, route, status, aborted }: Outcome): void {
  if (route !== undefined) {
    span.updateName(`${method === '_OTHER' ? 'HTTP' : method} ${route}`);
    span.setAttribute('http.route', route);
  }
  if (status !== undefined) span.setAttribute('http.response.status_code', status);
  if (aborted !== undefined) span.setAttribute('error.type', aborted);
  else if (status !== undefined && status >= 500) span.setAttribute('error.type', String(status));
  if (aborted === 'fault' || (status ?? 0) >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

/**
 * Starts the span of a wait for the database (semantic conventions for database clients): from the asking to the
 * result. It names the statement and never holds its text or arguments.
 */
export function startWait(tracer: Tracer, name: string, peer: Peer, parent: Context): Span {
  const attributes: Attributes = {
    'db.system.name': 'postgresql',
    'db.namespace': peer.database,
    'db.operation.name': name.split(' ', 1)[0]!,
    'db.query.summary': name,
    'server.address': peer.host,
    'server.port': peer.port,
  };
  return tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent);
}

/** Ends it, with the SQLSTATE or the driver's code when it failed. */
export function endWait(span: Span, error: unknown): void {
  if (error !== undefined) {
    const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
    const told = typeof code === 'string' ? code : typeof name === 'string' ? name : '_OTHER';
    span.setAttribute('error.type', told);
    if (/^[0-9A-Z]{5}$/.test(told)) span.setAttribute('db.response.status_code', told);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}
