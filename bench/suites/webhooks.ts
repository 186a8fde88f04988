import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startContestant } from '../harness/contestant.js';
import { openStage } from '../harness/stage.js';
import { quantile } from '../harness/stats.js';

/**
 * How fast webhooks are: `node dist/bench/webhooks.js [seconds] [clients]`. Clients create items, one after the other
 * each, with one webhook to a target in this process; reported are the creates and deliveries a second, and the time from
 * the event's own, when its transaction began, to its arrival: somewhat more than from the commit.
 */
const SECONDS = Number(process.argv[2] ?? 5);
const CLIENTS = Number(process.argv[3] ?? 16);
const PATIENCE_MS = 120_000;
const JSON_FIELDS = { 'content-type': 'application/json' };

const times: number[] = [];
const target = http.createServer(async (req, res) => {
  let text = '';
  for await (const chunk of req) text += chunk;
  times.push(Date.now() - Date.parse((JSON.parse(text) as { time: string }).time));
  res.writeHead(204).end();
});
target.listen(0, '127.0.0.1');
await once(target, 'listening');
const hook = `http://127.0.0.1:${(target.address() as AddressInfo).port}/`;
const agent = new http.Agent({ keepAlive: true });
const stage = await openStage((line) => process.stderr.write(`${line}\n`));
try {
  const databaseUrl = await stage.copy('plinth', { users: 20_000, items: 1000 }, 'webhooks');
  await stage.settle(databaseUrl);
  const settings = { WEBHOOK_ALLOW: '127.0.0.1', INSECURE: 'webhooks' };
  const service = await startContestant('plinth', databaseUrl, settings);
  try {
    await post(`${service.url}/webhooks`, { url: hook, types: ['*'] });
    await measure(`${service.url}/items`);
  } finally {
    await service.stop();
  }
} finally {
  agent.destroy();
  target.close();
  target.closeAllConnections();
  await stage.close();
}

async function measure(url: string): Promise<void> {
  const began = performance.now();
  let created = 0;
  const client = async () => {
    while (performance.now() - began < SECONDS * 1000) await post(url, { name: `bench ${created++}` });
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  const writing = (performance.now() - began) / 1000;
  while (times.length < created) {
    if (performance.now() - began > PATIENCE_MS) throw new Error(`${times.length} of ${created} arrived`);
    await sleep(10);
  }
  const all = (performance.now() - began) / 1000;
  const [rate, delivered] = [created / writing, times.length / all].map(Math.round);
  process.stdout.write(
    `${created} creates, ${rate}/s; ${delivered} delivered a second; to arrival: median ${quantile(times, 0.5)} ms, p99 ${quantile(times, 0.99)} ms\n`,
  );
}

function post(url: string, body: object): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { agent, method: 'POST', headers: JSON_FIELDS }, (response) => {
      response.resume().on('end', () => {
        if (response.statusCode === 201) resolve();
        else reject(new Error(`${url}: ${response.statusCode}`));
      });
    });
    request.on('error', reject);
    request.end(JSON.stringify(body));
  });
}
