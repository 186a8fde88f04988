import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { noteError, requireType } from './provoked-errors.js';

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
  // Without a server name, the certificate is compared with the address and not with the Host.
  const where = {
    hostname,
    port,
    method,
    path,
    headers,
    agent: false as const,
    servername: '',
    ...options.tls,
  };
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
        const isProblem = response.headers['content-type'] === 'application/problem+json';
        if (isProblem && text !== '')
          try {
            requireType(JSON.parse(text));
          } catch (error) {
            return reject(error);
          }
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
