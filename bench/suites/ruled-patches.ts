import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashOf, newKey } from '../../src/auth/credentials/api-key-format.js';
import { startEmbedded } from '../../src/features/embedded/embedded.js';
import { openSql } from '../../test/support/sql.js';
import { startContestant } from '../harness/contestant.js';
import { loadByWrk } from '../harness/load-wrk.js';
import { cpuOf, cpuOfFamily } from '../harness/proc.js';
import { median } from '../harness/stats.js';

/**
 * Patches under access rules beside patches without rules, by an administrator and by the owner of the records, measured in turn: `node
 * dist/bench/suites/ruled-patches.js [connections] [rounds] [seconds] [main.js of another build]`. Needs wrk.
 */
const [CONNECTIONS = 1, ROUNDS = 5, SECONDS = 3] = process.argv.slice(2, 5).map(Number);
const PROGRAM = process.argv[5];
const RECORDS = 500;
const OWNER = '01900000-0000-7000-8000-000000000000';

const text = { type: 'string', 'x-index': true };
const plain = {
  type: 'object',
  properties: { title: text, owner: text, count: { type: 'number' } },
};
const access = [
  { can: ['read', 'create', 'update', 'delete'], where: { owner: '$caller' } },
  { can: 'all', scope: 'admin' },
];

const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'));
const dataDir = join(folder, 'data');
const collections = join(folder, 'collections');
mkdirSync(collections);
writeFileSync(join(collections, 'plain.json'), JSON.stringify(plain));
writeFileSync(join(collections, 'ruled.json'), JSON.stringify({ ...plain, 'x-collection': { access } }));
const { url, stop } = await startEmbedded({ dataDir, settings: ['fsync=off'] });
const database = Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n', 1)[0]);
const settings = { COLLECTIONS: collections, MIGRATE: 'auto', AUTH: 'api-key' };
const service = await startContestant('plinth', url, settings, PROGRAM);

async function makeKey(subject: string, scope: string): Promise<string> {
  const key = newKey();
  const sql = openSql(url, { max: 1 });
  await sql`insert into credentials (id, kind, hash, label, subject, scopes)
    values (gen_random_uuid(), 'key', decode(${hashOf(key)}, 'base64'), 'bench', ${subject}, ${[scope]})`;
  await sql.end();
  return key;
}

async function makeRecords(path: string, key: string): Promise<string[]> {
  const body = JSON.stringify({ title: 'a title', owner: OWNER, count: 1 });
  const headers = { 'content-type': 'application/json', 'x-api-key': key };
  return Promise.all(
    Array.from({ length: RECORDS }, async () => {
      const response = await fetch(`${service.url}${path}`, { method: 'POST', headers, body });
      return ((await response.json()) as { readonly id: string }).id;
    }),
  );
}

try {
  const [admin, owner] = [await makeKey('root', 'admin'), await makeKey(OWNER, 'self')];
  const cases = [
    { label: 'without rules', path: '/plain', key: admin },
    { label: 'administrator', path: '/ruled', key: admin },
    { label: 'owner', path: '/ruled', key: owner },
  ].map((each) => ({
    ...each,
    idsFile: join(folder, each.label),
    rates: [] as number[],
    us: [] as number[],
  }));
  for (const { path, idsFile } of cases) writeFileSync(idsFile, (await makeRecords(path, admin)).join('\n'));
  const cpu = () => (cpuOf(service.pid) ?? 0) + (cpuOfFamily(database) ?? 0);
  for (let round = 0; round <= ROUNDS; round++)
    for (const { label, path, key, idsFile, rates, us } of round % 2 === 0 ? cases : cases.toReversed()) {
      const before = cpu();
      const headers = { 'content-type': 'application/json', 'x-api-key': key };
      const request = { method: 'PATCH', path: `${path}/{id}`, headers, body: '{"count":{number}}' };
      const load = { url: service.url, connections: CONNECTIONS, seconds: SECONDS, status: 200, idsFile };
      const { rate, requests, wrong } = await loadByWrk({ ...load, request });
      if (wrong > 0) throw new Error(`${label}: ${wrong} requests failed`);
      // The first round warms up.
      if (round > 0) [rates.push(rate), us.push(((cpu() - before) * 1e6) / requests)];
    }
  const [base] = cases;
  for (const { label, rates, us } of cases) {
    const ratio = (of: readonly number[], to: readonly number[]) =>
      median(of.map((each, round) => each / to[round]!)).toFixed(2);
    process.stdout.write(
      `${label.padEnd(14)} ${median(rates).toFixed(0)}/s, ${ratio(rates, base!.rates)} x, by CPU time ${ratio(base!.us, us)} x (${median(us).toFixed(0)} us)\n`,
    );
  }
} finally {
  await service.stop();
  await stop();
  rmSync(folder, { recursive: true, force: true });
}
