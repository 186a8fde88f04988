import type { IncomingMessage } from 'node:http';
import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  ProxyTracerProvider,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { Peer } from '../database-url/servers.js';
import { pathOf } from './request-path.js';

/** The span of a request and the context of its children. */
export interface RequestSpan {
  readonly span: Span;
  readonly context: Context;
}

/** The tracer of the SDK that the operator loaded before the service; undefined without one. */
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

/** The member of the context of a request with the database for which the request waits. */
const DATABASE = createContextKey('the database of Plinth');

/**
 * Starts the span of a request, a child of the caller's span in the header fields (OpenTelemetry's stable semantic
 * conventions for HTTP servers). It leaves out the query, which may contain secrets.
 */
export function startRequest(
  tracer: Tracer,
  req: IncomingMessage,
  method: string,
  database: Peer,
): RequestSpan {
  const { headers, socket } = req;
  const parent = propagation.extract(ROOT_CONTEXT, headers, GETTER);
  const host = /^(\[[^\]]{1,64}\]|[^:]{1,255})(?::(\d{1,5}))?$/.exec(headers.host ?? '');
  const attributes: Attributes = {
    'http.request.method': method,
    'url.path': pathOf(req.url),
    'url.scheme': 'encrypted' in socket && socket.encrypted === true ? 'https' : 'http',
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
  return { span, context: trace.setSpan(parent, span).setValue(DATABASE, database) };
}

/** Runs the work of a request with its span as the active one, for libraries that create spans. */
export function within<T>(request: RequestSpan, work: () => T): T {
  return context.with(request.context, work);
}

/** How a request ended. `status`: undefined without a response; `aborted`: why the response is incomplete. */
export interface Outcome {
  readonly method: string;
  readonly route: string | undefined;
  readonly status: number | undefined;
  readonly aborted: string | undefined;
}

/** Ends the span of a request. Only internal errors set the error status: 5xx, and a response interrupted by one. */
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
 * Starts the span of a wait of the current request for the database, from the call to the result (semantic conventions for
 * database clients). It has the statement's name, never its text or arguments. Undefined: no request is recorded.
 */
export function startWait(tracer: Tracer, name: string): Span | undefined {
  const parent = context.active();
  const peer = parent.getValue(DATABASE) as Peer | undefined;
  if (!peer || !trace.getSpan(parent)?.isRecording()) return undefined;
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

/** Ends the span of a wait, after an error with its SQLSTATE or the driver's code. */
export function endWait(span: Span, error: unknown): void {
  if (error !== undefined) {
    const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
    const type = typeof code === 'string' ? code : typeof name === 'string' ? name : '_OTHER';
    span.setAttribute('error.type', type);
    if (/^[0-9A-Z]{5}$/.test(type)) span.setAttribute('db.response.status_code', type);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}
