import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { findTracer } from '../../src/telemetry/tracing.js';
import { send as sendTo, testService } from '../support/service.js';
import t from '../support/test.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const exporter = new InMemorySpanExporter();

/** The spans that ended since the last time. */
function spans(): ReadableSpan[] {
  const found = exporter.getFinishedSpans();
  exporter.reset();
  return found;
}

const serverOf = (found: ReadableSpan[]) => found.find(({ kind }) => kind === SpanKind.SERVER)!;
const clientsOf = (found: ReadableSpan[]) => found.filter(({ kind }) => kind === SpanKind.CLIENT);

t.equal(findTracer(), undefined, 'without an SDK there is no tracer, and nothing to do');

const untraced = await testService(t);
await untraced.send('GET', '/users');
t.same(spans(), []);

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
);

t.test('a span a request, named by method and route, below the caller', async (t) => {
  const { send, url, db } = await testService(t);
  spans();
  const body = { email: 'a@example.org', name: 'swordfish' };
  const headers = { traceparent: `00-${TRACE}-${SPAN}-01`, 'user-agent': 'a test' };
  const { json } = await send('POST', '/api/v1/users?_secret=1', { body, headers });
  const found = spans();
  const server = serverOf(found);
  t.equal(server.name, 'POST /users');
  t.same([server.spanContext().traceId, server.parentSpanContext?.spanId], [TRACE, SPAN]);
  t.match(server.attributes, {
    'http.request.method': 'POST',
    'http.route': '/users',
    'http.response.status_code': 201,
    'url.path': '/api/v1/users',
    'url.scheme': 'http',
    'server.address': '127.0.0.1',
    'server.port': Number(new URL(url).port),
    'network.protocol.version': '1.1',
    'network.peer.address': '127.0.0.1',
    'user_agent.original': 'a test',
  });
  t.equal(server.status.code, SpanStatusCode.UNSET);
  const [wait, ...others] = clientsOf(found);
  t.equal(others.length, 0);
  t.equal(wait?.name, 'create users');
  t.equal(wait?.parentSpanContext?.spanId, server.spanContext().spanId);
  t.match(wait?.attributes, {
    'db.system.name': 'postgresql',
    'db.namespace': db.peer.database,
    'db.operation.name': 'create',
    'db.query.summary': 'create users',
    'server.address': db.peer.host,
    'server.port': db.peer.port,
  });
  await send('GET', `/users/${json.id}`);
  const exported = JSON.stringify(
    [...found, ...spans()].map(({ name, attributes, events }) => [name, attributes, events]),
  );
  for (const secret of ['swordfish', 'secret=1', 'a@example.org', 'select '])
    t.notOk(exported.includes(secret), `nothing reveals ${secret}`);
});

t.test('each of the requests that share a statement has a span of its own wait', async (t) => {
  const { send } = await testService(t);
  const { json } = await send('POST', '/users', { body: { email: 'a@example.org', name: 'A' } });
  spans();
  await Promise.all(Array.from({ length: 10 }, () => send('GET', `/users/${json.id}`)));
  const found = spans();
  const servers = found.filter(({ kind }) => kind === SpanKind.SERVER);
  t.equal(servers.length, 10);
  t.equal(new Set(servers.map((span) => span.spanContext().traceId)).size, 10, 'ten traces');
  const parents = clientsOf(found).map((span) => `${span.name} ${span.parentSpanContext?.spanId}`);
  t.same(parents.sort(), servers.map((span) => `read users ${span.spanContext().spanId}`).sort());
});

t.test('statements, transactions and streams', async (t) => {
  const { send } = await testService(t);
  const body = { email: 'a@example.org', name: 'A', password: 'a sword and a fish' };
  const { json } = await send('POST', '/users', { body });
  const names = () => clientsOf(spans()).map(({ name }) => name);
  t.same(names(), ['connect', 'begin', 'create users', 'set_password', 'commit']);
  await send('GET', '/users');
  const streamed = spans();
  t.match(clientsOf(streamed).at(-1)?.name, /^stream users/);
  t.equal(serverOf(streamed).attributes['http.response.status_code'], 200);
  await send('GET', '/users?page=1');
  t.same(names(), ['page users']);
  await send('GET', `/users/${json.id}/posts`);
  t.match(names(), ['exists users', 'connect', /^stream posts/]);
});

t.test('what is an error, and what is not', async (t) => {
  const { send, db } = await testService(t);
  spans();
  await send('GET', '/nowhere');
  const absent = serverOf(spans());
  t.same([absent.name, absent.status.code], ['GET', SpanStatusCode.UNSET], 'a 404 is none, and has no route');
  t.equal(absent.attributes['http.route'], undefined);
  await send('PROPFIND', '/users');
  const unknown = serverOf(spans());
  const method = { 'http.request.method': '_OTHER', 'http.request.method_original': 'PROPFIND' };
  t.match(unknown.attributes, { ...method, 'error.type': '501' });
  t.equal(unknown.name, 'HTTP');
  await db.run('alter table public_collections.users rename to away', []);
  await send('GET', '/users/0192f7b0-0000-7000-8000-000000000000');
  const found = spans();
  const failed = serverOf(found);
  t.equal(failed.status.code, SpanStatusCode.ERROR);
  t.match(failed.attributes, { 'error.type': '500', 'http.response.status_code': 500 });
  t.match(failed.events[0], { name: 'exception' });
  const wait = clientsOf(found)[0]!;
  t.equal(wait.status.code, SpanStatusCode.ERROR);
  t.match(wait.attributes, { 'error.type': '42P01', 'db.response.status_code': '42P01' });
});

t.test('logs name the span of the request itself', async (t) => {
  const { send, logged } = await testService(t, { ACCESS_LOG: 'on', LOG_LEVEL: 'info' });
  await send('GET', '/users', { headers: { traceparent: `00-${TRACE}-${SPAN}-01` } });
  const server = serverOf(spans());
  t.match(JSON.parse(logged.at(-1)!), { trace_id: TRACE, span_id: server.spanContext().spanId });
});

t.test('a caller whose trace is not sampled is not traced', async (t) => {
  const { url } = await testService(t);
  spans();
  await sendTo(url, 'GET', '/users', { headers: { traceparent: `00-${TRACE}-${SPAN}-00` } });
  t.same(spans(), []);
});
