import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSql } from '../../test/support/sql.js';
import { type Contestant, startContestant } from '../harness/contestant.js';
import { pickLoader } from '../harness/load.js';
import { cpuOf, cpuOfFamily } from '../harness/proc.js';
import { openStage } from '../harness/stage.js';
import { median } from '../harness/stats.js';

/**
 * The cost and the delay of events: `node dist/bench/events.js [rounds] [streams]`. The rate of writes with events on
 * against off, in turns; the time from a commit to a thousand open streams; events a second through the outbox and the feed.
 */
const ROUNDS = Number(process.argv[2] ?? 5);
const STREAMS = Number(process.argv[3] ?? 1000);
const SECONDS = 2;
const CONNECTIONS = 64;
const SIZE = { users: 20_000, items: 1000 };
const JSON_FIELDS = { 'content-type': 'application/json' };

const WRITES = {
  create: {
    method: 'POST',
    path: '/users',
    headers: JSON_FIELDS,
    body: '{"email":"{unique}@example.org","name":"Ann Example","age":{number},"city":"Lisbon"}',
    status: 201,
  },
  patch: {
    method: 'PATCH',
    path: '/users/{id}',
    headers: JSON_FIELDS,
    body: '{"age":{number}}',
    status: 200,
  },
} as const;

const loader = pickLoader(undefined);
const stage = await openStage((line) => process.stderr.write(`${line}\n`));
const folder = await mkdtemp(join(tmpdir(), 'plinth-bench-'));
const running: Contestant[] = [];
try {
  const start = async (setting: string): Promise<Contestant> => {
    const url = await stage.copy('plinth', SIZE, `events_${setting}`);
    await stage.settle(url);
    urls.set(setting, url);
    const service = await startContestant('plinth', url, { EVENTS: setting });
    running.push(service);
    return service;
  };
  const urls = new Map<string, string>();
  const [on, off] = [await start('on'), await start('off')];
  const idsFile = await writeIds(urls.get('on')!);
  for (const name of ['create', 'patch'] as const) await compare(name, { on, off }, idsFile);
  await measureStreams(on);
  await measureFeed(on, urls.get('on')!);
} finally {
  for (const service of running) await service.stop();
  await rm(folder, { recursive: true, force: true });
  await stage.close();
}

async function writeIds(url: string): Promise<string> {
  const sql = openSql(url, { max: 1 });
  const rows = await sql<{ id: string }[]>`select id from users`;
  await sql.end();
  const file = join(folder, 'ids.txt');
  await writeFile(file, `${rows.map(({ id }) => id).join('\n')}\n`);
  return file;
}

/** The rates of both by turns; the ratio is the median of those of each round. */
async function compare(
  name: keyof typeof WRITES,
  services: Readonly<Record<'on' | 'off', Contestant>>,
  idsFile: string,
): Promise<void> {
  const { status, ...request } = WRITES[name];
  const rounds: Record<string, { rate: number; pgUs: number; nodeUs: number }>[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const figures: Record<string, { rate: number; pgUs: number; nodeUs: number }> = {};
    for (const setting of round % 2 === 0 ? (['on', 'off'] as const) : (['off', 'on'] as const)) {
      const { url, pid } = services[setting];
      await stage.calm();
      const before = [cpuOf(pid) ?? 0, cpuOfFamily(stage.pid) ?? 0] as const;
      const outcome = await loader.load({
        url,
        connections: CONNECTIONS,
        seconds: SECONDS,
        request,
        status,
        idsFile,
      });
      if (outcome.wrong > 0) throw new Error(`${name}: ${outcome.wrong} wrong responses`);
      const spent = (now: number | undefined, then: number) => (((now ?? 0) - then) * 1e6) / outcome.requests;
      figures[setting] = {
        rate: outcome.rate,
        nodeUs: spent(cpuOf(pid), before[0]),
        pgUs: spent(cpuOfFamily(stage.pid), before[1]),
      };
    }
    if (round > 0) rounds.push(figures);
  }
  const middle = (setting: string, figure: 'rate' | 'pgUs' | 'nodeUs') =>
    Math.round(median(rounds.map((round) => round[setting]![figure])));
  const ratio = median(rounds.map(({ on, off }) => on!.rate / off!.rate));
  for (const setting of ['on', 'off'])
    print(
      `${name}, events ${setting}: ${middle(setting, 'rate')}/s, node ${middle(setting, 'nodeUs')} us, pg ${middle(setting, 'pgUs')} us`,
    );
  print(`${name}: ${ratio.toFixed(2)} of the rate with events on`);
}

/** Opens streams, writes now and then, and takes the time from each 201 to its event on each stream. */
async function measureStreams({ url, pid }: Contestant): Promise<void> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: STREAMS + 10 });
  const written = new Map<string, number>();
  const times: number[] = [];
  const requests = await Promise.all(
    Array.from({ length: STREAMS }, () =>
      openStream(`${url}/events?after=now`, agent, (text) => {
        const now = performance.now();
        for (const [, id] of text.matchAll(/"name":"(bench \d+)"/g)) {
          const at = written.get(id!);
          if (at !== undefined) times.push(now - at);
        }
      }),
    ),
  );
  const before = cpuOf(pid) ?? 0;
  const EVENTS = 50;
  for (let count = 0; count < EVENTS; count++) {
    const name = `bench ${count}`;
    // From before it is sent: the commit is somewhat later, so the figures are an upper bound.
    written.set(name, performance.now());
    await post(`${url}/items`, JSON.stringify({ name }), agent);
    await sleep(100);
  }
  await sleep(1000);
  const cpuMs = ((cpuOf(pid) ?? 0) - before) * 1000;
  for (const request of requests) request.destroy();
  agent.destroy();
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor((times.length - 1) * share)]?.toFixed(1);
  print(
    `commit to stream, ${STREAMS} streams: median ${at(0.5)} ms, p99 ${at(0.99)} ms, ${times.length} of ${EVENTS * STREAMS} events, node ${(cpuMs / EVENTS).toFixed(1)} ms an event`,
  );
}

function openStream(
  url: string,
  agent: http.Agent,
  onText: (text: string) => void,
): Promise<http.ClientRequest> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent, headers: { accept: 'text/event-stream' } }, (response) => {
      response.setEncoding('utf8').once('data', () => resolve(request));
      response.on('data', onText).on('error', () => undefined);
    });
    request.on('error', reject);
  });
}

function post(url: string, body: string, agent: http.Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { agent, method: 'POST', headers: JSON_FIELDS }, (response) => {
      response.resume().on('end', resolve);
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** Writes as fast as one statement can, and reads all of it by pages and by a stream. */
async function measureFeed({ url }: Contestant, databaseUrl: string): Promise<void> {
  const EVENTS = 50_000;
  const agent = new http.Agent({ keepAlive: true });
  const sql = openSql(databaseUrl, { max: 1 });
  const start = (await read(`${url}/events?after=now`, agent)).cursor;
  const began = performance.now();
  await sql`insert into items (id, updated_at, doc, name)
    select id, now(), json_build_object('id', id, 'name', 'n')::text, 'n'
    from (select gen_random_uuid() as id from generate_series(1, ${EVENTS}::integer)) as new`;
  print(`outbox, one statement: ${rate(EVENTS, began)} events a second`);
  await sql.end();
  await sleep(1500);
  const paging = performance.now();
  let cursor = start;
  for (let count = 0; count < EVENTS; ) {
    const page = await read(`${url}/events?after=${cursor}&limit=1000`, agent);
    count += page.count;
    cursor = page.cursor;
  }
  print(`feed, pages of 1,000: ${rate(EVENTS, paging)} events a second`);
  const streaming = performance.now();
  let seen = 0;
  let done = (): void => undefined;
  const whole = new Promise<void>((resolve) => (done = resolve));
  const request = await openStream(`${url}/events?after=${start}`, agent, (text) => {
    seen += text.split('"specversion"').length - 1;
    if (seen >= EVENTS) done();
  });
  await whole;
  print(`feed, one stream: ${rate(EVENTS, streaming)} events a second`);
  request.destroy();
  agent.destroy();
}

function read(url: string, agent: http.Agent): Promise<{ count: number; cursor: string }> {
  return new Promise((resolve, reject) => {
    http
      .get(url, { agent }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => {
          const { data, meta } = JSON.parse(text) as { data: unknown[]; meta: { cursor: string } };
          resolve({ count: data.length, cursor: meta.cursor });
        });
      })
      .on('error', reject);
  });
}

function rate(events: number, since: number): number {
  return Math.round((events * 1000) / (performance.now() - since));
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
