import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ServiceResponse, TestService } from '../../support/service.js';
import { sqlOf } from '../../support/sql.js';
import type { Test } from '../../support/test.js';
import { until } from '../../support/until.js';

/** A message that arrived. */
export interface Received {
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  readonly id: string;
}

/** Responds to one message; `count` is how many came before it. A number is the status of an empty response. */
export type Responder = (message: Received, res: ServerResponse, count: number) => number | undefined;

export interface Target {
  readonly url: string;
  readonly received: readonly Received[];
  /** Refuses connections; those there are end. */
  close(): Promise<void>;
}

/** A receiver on loopback. Closed when the test ends. */
export async function testTarget(t: Test, respond: Responder = () => 204, port = 0): Promise<Target> {
  const received: Received[] = [];
  const server = http.createServer(async (req: IncomingMessage, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const { url: path = '', headers } = req;
    const id = String(headers['webhook-id']);
    const message = { path, headers, body: Buffer.concat(chunks).toString(), id };
    const status = respond(message, res, received.push(message) - 1);
    if (status !== undefined) res.writeHead(status).end();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  };
  t.teardown(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, close };
}

/** Settings with which a test's deliveries reach loopback: `testService` and `QUICK_DELIVERY` let them be retried quickly. */
export const LOOPBACK = { WEBHOOK_ALLOW: '127.0.0.1', INSECURE: 'webhooks' };

/** A webhook of a service as it was made. */
export interface Made {
  readonly id: string;
  readonly secret: string;
}

export async function makeWebhook({ send }: TestService, url: string, more: object = {}): Promise<Made> {
  const response = await send('POST', '/webhooks', { body: { url, types: ['*'], ...more } });
  if (response.status !== 201) throw new Error(`${response.status} ${response.text}`);
  return response.json as Made;
}

/** Puts deliveries into the table as the reader of the feed does; `records` names the record of each. */
export async function addDeliveries(
  t: Test,
  { databaseUrl }: { readonly databaseUrl: string },
  webhookId: string,
  records: readonly string[],
): Promise<string[]> {
  const sql = sqlOf(t, databaseUrl);
  const { insertDeliveries } = await import('../../../src/features/webhooks/delivery-store.js');
  const events = records.map((recordKey, n) => ({
    id: `${recordKey}-${n}`,
    type: 'items.patched',
    recordKey,
    body: JSON.stringify({ specversion: '1.0', id: `${recordKey}-${n}`, subject: recordKey }),
  }));
  const run = (text: string, args: readonly unknown[]) => sql.unsafe(text, args as string[]) as never;
  const ids = await insertDeliveries(
    run,
    events,
    events.map((_, event) => ({ webhook: webhookId, event })),
  );
  await sql.end();
  return ids;
}

/** The deliveries of a webhook once they all have one of the given statuses; the oldest first. */
export async function deliveriesOf(
  { send }: { readonly send: (method: string, path: string) => Promise<ServiceResponse> },
  webhookId: string,
  count: number,
  status: (text: string) => boolean = (text) => text !== 'pending',
) {
  const found = await until(
    'the deliveries end',
    async () => {
      const { json } = await send('GET', `/webhooks/${webhookId}/deliveries`);
      // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
      return json.data as any[];
    },
    (data) => data.length === count && data.every((each) => status(each.status)),
  );
  return found.reverse();
}
