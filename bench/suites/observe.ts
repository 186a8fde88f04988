import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openSql } from '../../test/support/sql.js';
import { type Contestant, startContestant } from '../harness/contestant.js';
import { pickLoader } from '../harness/load.js';
import { loadPrepared } from '../harness/load-wrk.js';
import { cpuOf } from '../harness/proc.js';
import { openStage } from '../harness/stage.js';
import { median } from '../harness/stats.js';

/**
 * The cost of observation: CPU time of a read by id, by what is turned on, measured by turns. Given the main.js of another
 * build, that is the measure of all: `node dist/bench/observe.js [../before/dist/src/main.js]`. Needs wrk.
 */
const ROUNDS = 7;
const SECONDS = 2;
const CONNECTIONS = 64;
const SIZE = { users: 20_000, items: 1000 };

interface Case {
  readonly label: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly program?: string;
}

pickLoader('wrk');
const stage = await openStage((line) => process.stderr.write(`${line}\n`));
const folder = await mkdtemp(join(tmpdir(), 'plinth-bench-'));
try {
  const databaseUrl = await stage.copy('plinth', SIZE, 'observe');
  await stage.settle(databaseUrl);
  await measure(await casesOf(process.argv[2]), databaseUrl, await requestsOf(databaseUrl));
} finally {
  await rm(folder, { recursive: true, force: true });
  await stage.close();
}

async function casesOf(before: string | undefined): Promise<Case[]> {
  const cases: Case[] = [
    { label: 'as it is', settings: {} },
    { label: 'ACCESS_LOG', settings: { ACCESS_LOG: 'on' } },
    {
      label: 'OpenTelemetry',
      settings: { NODE_OPTIONS: `--import ${pathToFileURL(await sdk())}` },
    },
  ];
  return before === undefined
    ? cases
    : [{ label: 'other build', settings: {}, program: resolve(before) }, ...cases];
}

/** A program that loads an SDK which makes every span and sends none. */
async function sdk(): Promise<string> {
  const require = createRequire(import.meta.url);
  const of = (name: string) => JSON.stringify(require.resolve(name));
  const file = join(folder, 'sdk.mjs');
  await writeFile(
    file,
    `import { createRequire } from 'node:module';
const require = createRequire(${JSON.stringify(import.meta.url)});
const { context, propagation, trace } = require(${of('@opentelemetry/api')});
const { AsyncLocalStorageContextManager } = require(${of('@opentelemetry/context-async-hooks')});
const { W3CTraceContextPropagator } = require(${of('@opentelemetry/core')});
const { BasicTracerProvider } = require(${of('@opentelemetry/sdk-trace-base')});
const nowhere = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} };
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [nowhere] }));
`,
  );
  return file;
}

/** A file of requests: a line each. */
async function requestsOf(databaseUrl: string): Promise<string> {
  const sql = openSql(databaseUrl, { max: 1 });
  const rows = await sql<{ id: string }[]>`select id from users order by random() limit 5000`;
  await sql.end();
  const file = join(folder, 'requests.txt');
  await writeFile(file, rows.map(({ id }) => `/users/${id}\n`).join(''));
  return file;
}

async function measure(cases: readonly Case[], databaseUrl: string, file: string): Promise<void> {
  const running: { each: Case; service: Contestant; costs: number[] }[] = [];
  try {
    for (const each of cases) {
      const service = await startContestant('plinth', databaseUrl, each.settings, each.program);
      running.push({ each, service, costs: [] });
    }
    // The first round warms up. Every other goes the other way round: nobody is always the one after.
    for (let round = 0; round <= ROUNDS; round++) {
      const order = round % 2 === 0 ? running : [...running].reverse();
      for (const { service, costs } of order) {
        const cost = await costOf(service, file);
        if (round > 0) costs.push(cost);
      }
    }
  } finally {
    for (const { service } of running) await service.stop();
  }
  const base = running[0]!.costs;
  for (const { each, costs } of running) {
    // Of each round its own ratio: what else the machine does changes from one to the next.
    const ratio = median(costs.map((cost, round) => cost / base[round]!));
    const us = median(costs).toFixed(2).padStart(7);
    process.stdout.write(`${each.label.padEnd(16)} ${us} us   ${ratio.toFixed(3)} x\n`);
  }
}

/** Microseconds of CPU a request. */
async function costOf({ url, pid }: Contestant, file: string): Promise<number> {
  const before = cpuOf(pid) ?? 0;
  const { requests, wrong } = await loadPrepared({
    url,
    file,
    connections: CONNECTIONS,
    seconds: SECONDS,
    once: false,
  });
  if (wrong > 0) throw new Error(`${wrong} of ${requests} requests were refused`);
  return (((cpuOf(pid) ?? 0) - before) * 1e6) / requests;
}
