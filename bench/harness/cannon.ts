import { readFileSync } from 'node:fs';
import autocannon, { type Request as CannonRequest } from 'autocannon';
import type { Load, Outcome } from './loader.js';
import { filler, nextTag } from './request.js';

/** The process that runs autocannon: takes a Load as its argument, prints an Outcome. */
const load = JSON.parse(process.argv[2]!) as Load;
const { method, path, headers, body } = load.request;
const ids = readFileSync(load.idsFile, 'utf8').trim().split('\n');
const tag = `${nextTag()}${process.pid}n`;
const pathOf = filler(path, ids, tag);
const bodyOf = filler(body ?? '', ids, tag);

const result = await autocannon({
  url: load.url,
  connections: load.connections,
  duration: load.seconds,
  timeout: 120,
  requests: [
    {
      method: method as NonNullable<CannonRequest['method']>,
      headers: { ...headers },
      setupRequest: (request) => ({
        ...request,
        path: pathOf(),
        ...(body === undefined ? {} : { body: bodyOf() }),
      }),
    },
  ],
});

const counts = Object.entries(result.statusCodeStats ?? {}).map(
  ([status, { count }]) => [Number(status), Number(count)] as const,
);
const requests = counts.reduce((sum, [, count]) => sum + count, 0);
const right = counts.find(([status]) => status === load.status)?.[1] ?? 0;
const outcome: Outcome = {
  requests,
  rate: requests / result.duration,
  p50: result.latency.p50,
  p99: result.latency.p99,
  wrong: requests - right + result.errors,
};
process.stdout.write(JSON.stringify(outcome));
