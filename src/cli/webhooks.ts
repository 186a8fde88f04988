import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { readConfig } from '../config/config.js';
import { ExitError } from '../exit-error.js';
import { urlOf } from '../process/listen.js';
import { verifyWebhook, WebhookError } from '../webhooks/verify.js';
import { parse, UsageError } from './exit.js';
import { USAGE } from './usage.js';

const MAX_BODY = 4_194_304;
const TIMEOUT_MS = 10_000;

/**
 * Receives webhooks on this machine, and prints each with the result of its verification. Without a secret it subscribes
 * to the service, and unsubscribes at its end. Throws UsageError, and ExitError if it cannot listen or subscribe.
 */
export async function webhooksCommand([verb, ...args]: string[], secret: string | undefined): Promise<void> {
  if (verb !== 'listen')
    throw new UsageError(
      verb === undefined
        ? 'webhooks needs a subcommand: listen'
        : `there is no command webhooks ${verb}: there is listen`,
      USAGE.webhooks,
    );
  const string = { type: 'string' } as const;
  const options = {
    port: { ...string, default: '4000' },
    service: string,
    types: string,
    'key-file': string,
  };
  const { values } = parse({ args, options }, USAGE.webhooks);
  if (!/^\d{1,5}$/.test(values.port) || Number(values.port) > 65_535)
    throw new UsageError('--port must be an integer from 0 to 65535', USAGE.webhooks);
  const secrets = secret === undefined ? [] : [secret];
  const server = createServer((req, res) => {
    receive(req, secrets).then(
      (status) => void res.writeHead(status).end(),
      (error: Error) => {
        process.stderr.write(`plinth: ${error.message}\n`);
        res.writeHead(413, { Connection: 'close' }).end();
      },
    );
  });
  await listenOn(server, Number(values.port));
  const url = urlOf(server, '127.0.0.1');
  const subscription =
    secret === undefined ? await subscribe(url, values.service, values.types, values['key-file']) : undefined;
  if (subscription) secrets.push(subscription.secret);
  process.stdout.write(
    `Listening on ${url}${subscription ? `, subscribed to ${subscription.service}` : ''}\n`,
  );
  await untilSignal();
  server.close();
  server.closeAllConnections();
  await subscription?.end();
}

function listenOn(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new ExitError(`cannot listen on port ${port}: ${error.message}`)));
    server.listen(port, '127.0.0.1', resolve);
  });
}

/** Prints a message, and returns the status of the response. */
async function receive(req: IncomingMessage, secrets: readonly string[]): Promise<number> {
  const body = await bodyOf(req);
  try {
    const { id } = verifyWebhook(body, req.headers, secrets);
    process.stdout.write(`verified ${id} ${body.toString('utf8')}\n`);
    return 204;
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error;
    process.stdout.write(`REJECTED ${error.code}: ${error.message} ${body.toString('utf8')}\n`);
    return 400;
  }
}

async function bodyOf(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY) throw new Error(`a message is longer than ${MAX_BODY} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

interface Subscription {
  readonly service: string;
  readonly secret: string;
  end(): Promise<void>;
}

/** Creates a webhook in the service: that of --service, or the one that the settings of this environment describe. */
async function subscribe(
  url: string,
  service: string | undefined,
  types: string | undefined,
  keyFile: string | undefined,
): Promise<Subscription> {
  const base = service ?? `http://127.0.0.1:${readConfig().port}`;
  const key = keyFile === undefined ? {} : { 'X-API-Key': readKey(keyFile) };
  const fields = { url, description: 'plinth webhooks listen', types: types?.split(',') ?? ['*'] };
  const response = await request(`${base}/webhooks`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...key },
    body: JSON.stringify(fields),
  });
  const result = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  if (response.status !== 201)
    throw new ExitError(`${base} does not subscribe ${url}: ${reasonOf(result, response.status)}`);
  return {
    service: base,
    secret: String(result.secret),
    end: async () => {
      await request(`${base}/webhooks/${String(result.id)}`, { method: 'DELETE', headers: key });
    },
  };
}

function readKey(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new ExitError(`${file} cannot be read: ${(error as Error).message}`);
  }
}

async function request(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    const { cause, message } = error as Error & { cause?: Error };
    throw new ExitError(`${new URL(url).origin} cannot be reached: ${cause?.message ?? message}`);
  }
}

/** The message of an error response (docs/api.md, Errors). */
function reasonOf(result: Record<string, unknown>, status: number): string {
  const { error, errors } = result as {
    error?: { message?: string };
    errors?: { path: string; message: string }[];
  };
  if (errors) return errors.map(({ path, message }) => `${path} ${message}`).join('; ');
  return `${status} ${error?.message ?? ''}`.trim();
}

function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
}
