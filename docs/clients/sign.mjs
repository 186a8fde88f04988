// A signed request, with Node. usage: SIGNING_SECRET=... node sign.mjs METHOD URL [BODY]
import { createHmac } from 'node:crypto';

/** The header fields that sign a request; `body` exactly as it will be sent. */
export function sign(secret, method, url, body = '') {
  const { pathname, search } = new URL(url);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', secret)
    .update(`${timestamp}\n${method}\n${pathname}${search}\n`)
    .update(body)
    .digest('base64');
  return { 'X-Timestamp': timestamp, 'X-Signature': signature };
}

const [method, url, body] = process.argv.slice(2);
const headers = sign(process.env.SIGNING_SECRET, method, url, body);
if (body !== undefined) headers['Content-Type'] = 'application/json';
const response = await fetch(url, { method, headers, body });
process.stdout.write(await response.text());
