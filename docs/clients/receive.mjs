// A receiver of webhooks, with Node alone. usage: WEBHOOK_SECRET=whsec_... PORT=8080 node receive.mjs
// WEBHOOK_SECRET takes several with spaces between, so that a new one can be put beside the old one.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const MOST_BYTES = 2_097_152;
const TOLERANCE_S = 300;
const keys = (process.env.WEBHOOK_SECRET ?? '')
  .split(/\s+/)
  .filter((secret) => secret !== '')
  .map((secret) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64'));

/** Whether a message is what the sender signed, a moment ago: Standard Webhooks 1.0. */
function isSigned(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
  if (!id || !signatures || !/^\d{1,12}$/.test(timestamp ?? '')) return false;
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_S) return false;
  const given = signatures
    .split(' ')
    .filter((text) => text.startsWith('v1,'))
    .map((text) => Buffer.from(text.slice(3), 'base64'));
  return keys.some((key) => {
    const wanted = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
    return given.some(
      (signature) => signature.length === wanted.length && timingSafeEqual(signature, wanted),
    );
  });
}

/** Ids that were handled; a message may come twice. What must survive a restart belongs in a database. */
const handled = new Set();

const server = createServer(async (req, res) => {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of req) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) return res.writeHead(413, { connection: 'close' }).end();
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  if (req.method !== 'POST' || !isSigned(req.headers, body)) return res.writeHead(400).end();
  const id = req.headers['webhook-id'];
  if (!handled.has(id)) {
    const event = JSON.parse(body);
    console.log(`${event.type} ${event.subject} ${id}`);
    handled.add(id);
    if (handled.size > 10_000) handled.delete(handled.values().next().value);
  }
  // Soon, and before long work: the sender waits 15 seconds.
  res.writeHead(204).end();
});
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  console.log(`receiving on http://127.0.0.1:${server.address().port}`);
});
