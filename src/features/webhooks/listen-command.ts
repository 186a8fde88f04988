import { createServer, type IncomingMessage, type Server } from 'node:http';
import { parse, subcommandOf } from '../../cli/arguments.js';
import { configOf, type Io, inputText, UsageError } from '../../cli/io.js';
import { print } from '../../cli/output.js';
import { ExitError, UnavailableError } from '../../errors/exit-error.js';
import { urlOf } from '../../process/listen.js';
import { COMMANDS } from './commands.js';
import { verifyWebhook, WebhookError } from './verify.js';

const MAX_BODY = 4_194_304;
const TIMEOUT_MS = 10_000;

/**
 * Receives webhooks on this machine, and prints each with the result of its verification. Without a secret it subscribes
 * to the service, and unsubscribes at its end. Throws UsageError, and ExitError if it cannot listen or subscribe.
 */
export async function webhooksCommand(args: string[], io: Io, secret: string | undefined): Promise<void> {
  const { verb, rest } = subcommandOf(COMMANDS, 'webhooks', args);
  const { values } = parse(COMMANDS, 'webhooks', verb, rest);
  const { json } = values;
  if (!/^\d{1,5}$/.test(values.port) || Number(values.port) > 65_535)
    throw new UsageError('--port must be an integer from 0 to 65535', 'webhooks');
  const secrets = secret === undefined ? [] : [secret];
  const server = createServer((req, res) => {
    receive(req, secrets, io, json).then(
      (status) => void res.writeHead(status).end(),
      (error: Error) => {
        io.stderr.write(`plinth: ${error.message}\n`);
        res.writeHead(413, { Connection: 'close' }).end();
      },
    );
  });
  await listenOn(server, Number(values.port));
  let subscription: Subscription | undefined;
  try {
    const url = urlOf(server, '127.0.0.1');
    if (secret === undefined)
      subscription = await subscribe(io, url, values.service, values.types, values['key-file']);
    if (subscription) secrets.push(subscription.secret);
    const service = subscription?.service;
    const text = `Listening on ${url}${service === undefined ? '' : `, subscribed to ${service}`}\n`;
    print(io, json, { listening: url, service: service ?? null }, text);
    await untilSignal(io);
  } finally {
    server.close();
    server.closeAllConnections();
    await subscription?.end();
  }
}

function untilSignal({ process }: Io): Promise<void> {
  if (!process) throw new ExitError('only a signal to a process of its own ends this command');
  return process.untilSignal();
}

function listenOn(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    // Later errors are of connections that cannot be accepted.
    server.on('error', (error) => reject(new ExitError(`cannot listen on port ${port}: ${error.message}`)));
    server.listen(port, '127.0.0.1', resolve);
  });
}

/** Prints a message, and returns the status of the response. */
async function receive(
  req: IncomingMessage,
  secrets: readonly string[],
  io: Io,
  json: boolean,
): Promise<number> {
  const bytes = await bodyOf(req);
  const body = bytes.toString('utf8');
  try {
    const { id } = verifyWebhook(bytes, req.headers, secrets);
    print(io, json, { verified: true, id: id ?? null, body }, `verified ${id} ${body}\n`);
    return 204;
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error;
    const { code, message } = error;
    print(io, json, { verified: false, code, message, body }, `REJECTED ${code}: ${message} ${body}\n`);
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
  io: Io,
  url: string,
  service: string | undefined,
  types: string | undefined,
  keyFile: string | undefined,
): Promise<Subscription> {
  const base = service ?? `http://127.0.0.1:${configOf(io).port}`;
  const key = keyFile === undefined ? {} : { 'X-API-Key': inputText(io, keyFile).trim() };
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

async function request(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    const { cause, message } = error as Error & { cause?: Error };
    throw new UnavailableError(`${new URL(url).origin} cannot be reached: ${cause?.message ?? message}`);
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
