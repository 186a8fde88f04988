import { createHmac } from 'node:crypto';

/** The fields of a signed request; `ago` seconds keep equal requests apart. */
export function sign(
  id: string,
  secret: string,
  method: string,
  path: string,
  body: string | Buffer,
  ago = 0,
) {
  const time = String(Math.floor(Date.now() / 1000) - ago);
  const signature = createHmac('sha256', secret)
    .update(`${time}\n${method}\n${path}\n`)
    .update(body)
    .digest('base64');
  return { 'x-timestamp': time, 'x-signature': signature, 'x-key-id': id };
}
