import { randomBytes } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import postgres from 'postgres';
import type { Test } from 'tap';
import { type App, type AppOptions, startApp } from '../../src/app.js';
import { type Config, readConfig } from '../../src/config/config.js';
import { createLog } from '../../src/telemetry/log.js';
import { CITUS_URL, createOnNodes, dropOnNodes, ENGINE } from './citus.js';
import { Contract, type Received } from './contract.js';
import { COLLECTIONS, TEMPLATE } from './names.js';
import { HOSTS } from './process.js';
import { noteError } from './provoked-errors.js';
import { watchSecrets } from './secrets.js';

/** Whether each response must be one that the OpenAPI document has: in the tests of the API. */
const isChecked = /[\\/]test[\\/](api|auth|collection|events|webhooks|issuer|renamed)[\\/]/.test(
  process.argv[1] ?? '',
);

async function requireContract(
  service: App,
  method: string,
  path: string,
  received: Received,
): Promise<void> {
  const fault = (await Contract.of(service, received)).violation(method, path, received);
  if (fault !== undefined)
    throw new Error(`the response contradicts the OpenAPI document of src/openapi/: ${fault}`);
}

/** The PostgreSQL that test/support/run.ts started; a superuser's URL. */
export const SERVER_URL = process.env.PLINTH_TEST_URL ?? '';

/** The URL of a new database: a migrated one, or an empty one. Dropped when the test ends. */
export async function testDatabase(t: Test, empty = false): Promise<string> {
  if (SERVER_URL === '') throw new Error('run the tests with: npm test');
  const name = `test_${randomBytes(6).toString('hex')}`;
  const template = empty ? 'template0' : TEMPLATE;
  if (CITUS_URL !== '') {
    await createOnNodes(CITUS_URL, name, template);
    t.teardown(() => dropOnNodes(CITUS_URL, name));
    return SERVER_URL.replace(/\/[^/]*$/, `/${name}`);
  }
  const sql = postgres(SERVER_URL, { max: 1, onnotice: () => undefined });
  // Only one session may copy a template at a time.
  await sql`select pg_advisory_lock(1)`;
  // Copying the files takes half as long as writing them to the log, since a checkpoint costs nothing here.
  await sql.unsafe(`create database ${name} template ${template} strategy file_copy`);
  await sql.end();
  t.teardown(async () => {
    const sql = postgres(SERVER_URL, { max: 1, onnotice: () => undefined });
    await sql.unsafe(`drop database if exists ${name} with (force)`);
    await sql.end();
  });
  return SERVER_URL.replace(/\/[^/]*$/, `/${name}`);
}

export interface TestService extends App {
  readonly databaseUrl: string;
  /** The lines of its log, from the level that LOG_LEVEL names on. */
  readonly logged: readonly string[];
  /** One request on a connection of its own. */
  readonly send: (method: string, path: string, options?: SendOptions) => Promise<ServiceResponse>;
  /** Bytes as they are, and everything that comes back until the server closes or `until` matches. */
  readonly raw: (bytes: string | Buffer, until?: RegExp) => Promise<string>;
}

/**
 * A service in this process on a port and a database of its own. `env` as on the command line; `overrides` for what is no
 * setting.
 */
export async function testService(
  t: Test,
  env: Record<string, string> = {},
  overrides: Partial<Config> = {},
  options: AppOptions = {},
): Promise<TestService> {
  const databaseUrl = env.DATABASE_URL ?? (await testDatabase(t));
  const settings = {
    ...COLLECTIONS,
    ...ENGINE,
    PORT: '0',
    LOG_LEVEL: 'silent',
    SHUTDOWN_MS: '1000',
    ALLOWED_HOSTS: HOSTS,
    ...env,
  };
  // Services whose deliveries reach a test look for them often.
  const poll = env.WEBHOOK_ALLOW ? { webhookPollMs: 20 } : {};
  const config = readConfig({ ...settings, DATABASE_URL: databaseUrl }, { ...poll, ...overrides });
  const watch = config.auth.length > 0 ? watchSecrets(t, env) : undefined;
  const logged: string[] = [];
  const log = createLog(config.logLevel, { write: (line) => logged.push(line) });
  const service = await startApp(config, watch?.log ?? log, options);
  t.teardown(() => service.stop());
  return {
    ...service,
    databaseUrl,
    logged: watch?.printed ?? logged,
    send: async (method, path, options = {}) => {
      watch?.sent(path, options);
      const response = await send(service.url, method, path, options);
      if (isChecked) await requireContract(service, method, path, response);
      watch?.onResponse(response);
      return response;
    },
    raw: (bytes, until) => raw(service.url, bytes, until),
  };
}

export interface SendOptions {
  readonly headers?: http.OutgoingHttpHeaders;
  /** Text or bytes as they are; anything else as JSON with `type`, or application/json. */
  readonly body?: unknown;
  readonly type?: string;
  /** Of an https service: the authority to believe, and the client's own certificate and key. */
  readonly tls?: Pick<SecureContextOptions, 'ca' | 'cert' | 'key'>;
}

/** The text of an error without the id of its request. */
export const withoutRequestId = (text: string): string => text.replace(/,"requestId":"[^"]*"/, '');

export interface ServiceResponse {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
  /** The body as it was sent. */
  readonly bytes: Buffer;
  /** The body as JSON; undefined when there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
  readonly json: any;
}

/** One request over a real socket; the connection is not used again. */
export function send(
  base: string,
  method: string,
  path: string,
  options: SendOptions = {},
): Promise<ServiceResponse> {
  const { body } = options;
  const bytes =
    body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const type = options.type ?? (body === undefined || Buffer.isBuffer(body) ? undefined : 'application/json');
  const length = bytes === undefined ? {} : { 'content-length': Buffer.byteLength(bytes) };
  const headers = { ...(type === undefined ? {} : { 'content-type': type }), ...length, ...options.headers };
  const { protocol, hostname, port } = new URL(base);
  const { request: open } = protocol === 'https:' ? https : http;
  const where = { hostname, port, method, path, headers, agent: false as const, ...options.tls };
  return new Promise((resolve, reject) => {
    const request = open(where, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        const isCoded = response.headers['content-encoding'] !== undefined;
        const text = isCoded ? '' : bytes.toString();
        noteError(response.statusCode!, text);
        const isJson = /\bjson/.test(response.headers['content-type'] ?? '') && text !== '';
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          text,
          bytes,
          json: isJson ? JSON.parse(text) : undefined,
        });
      });
    });
    request.on('error', reject);
    request.end(bytes);
  });
}

/** Writes bytes to a new connection and gives what comes back. */
export function raw(base: string, bytes: string | Buffer, until?: RegExp): Promise<string> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: hostname, port: Number(port) }, () => socket.write(bytes));
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (until?.test(text)) socket.destroy();
    });
    socket.on('error', (error) => (text === '' ? reject(error) : resolve(text)));
    socket.on('close', () => {
      for (const [, status, rest] of text.matchAll(/HTTP\/1\.1 (\d{3})([\s\S]*?)(?=HTTP\/1\.1 \d{3}|$)/g))
        noteError(Number(status), rest!);
      resolve(text);
    });
  });
}

/** What maintenance retains where a test names nothing else. */
export const RETENTION = {
  idempotencyTtlSeconds: 86_400,
  tombstoneTtlSeconds: 86_400,
  eventsRetentionSeconds: 86_400,
  eventsMax: 1_000_000,
  eventsMaxBytes: 1_000_000_000,
  idempotencyMaxBytes: 1_000_000_000,
  webhookRetentionSeconds: 86_400,
};
