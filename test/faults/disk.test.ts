import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyCluster } from '../support/migrated-folder.js';
import { dataFolder, startProcess } from '../support/process.js';
import { type ServiceResponse, send } from '../support/service.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

const SIZE = '192m';
const NOTE = 'x'.repeat(200_000);

const mount = (folder: string): void =>
  void execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE},mode=755`, 'plinth-test', folder], {
    stdio: 'ignore',
  });
const unmount = (folder: string): void => void execFileSync('umount', ['-l', folder]);

/** Why no small disk can be made here; false: it can. */
function noDisk(): string | false {
  const probe = mkdtempSync(join(tmpdir(), 'plinth-mount-'));
  try {
    mount(probe);
    unmount(probe);
    return false;
  } catch {
    return 'no tmpfs may be mounted here: that takes root';
  } finally {
    rmdirSync(probe);
  }
}

const skip = noDisk();

/** Takes all the room that there is; gives the function that frees it. */
function takeRoom(folder: string): () => void {
  const path = join(folder, 'filler');
  const file = openSync(path, 'w');
  try {
    for (let bytes = 1_048_576; bytes >= 4096; ) {
      try {
        if (writeSync(file, Buffer.alloc(bytes)) < bytes) bytes /= 2;
      } catch (error) {
        if ((error as { code?: string }).code !== 'ENOSPC') throw error;
        bytes /= 2;
      }
    }
  } finally {
    closeSync(file);
  }
  return () => rmSync(path);
}

t.test('a full disk: 507 or 503, reads where it can, and writes when there is room', { skip }, async (t) => {
  const folder = await dataFolder(t);
  mount(folder);
  t.teardown(() => unmount(folder));
  await copyCluster(folder);
  const service = startProcess(t, { DATA_DIR: folder, DB_TIMEOUT_MS: '1000' });
  const url = await service.ready();
  const create = (name: string): Promise<ServiceResponse> =>
    send(url, 'POST', '/items', { body: { name, note: NOTE } });
  const first = await create('first');
  t.equal(first.status, 201);
  const confirmed = new Set(['first']);
  const statuses = new Map<number, number>();
  const free = takeRoom(folder);
  let refusal: ServiceResponse | undefined;
  for (let n = 0; n < 2000 && (statuses.get(507) ?? 0) + (statuses.get(503) ?? 0) < 20; n++) {
    const response = await create(`full ${n}`);
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    if (response.status === 201) confirmed.add(`full ${n}`);
    else refusal ??= response;
  }
  t.comment([...statuses].map(([status, count]) => `${status}: ${count}`).join(', '));
  t.strictSame(
    [...statuses.keys()].filter((status) => ![201, 503, 507].includes(status)),
    [],
  );
  const code = refusal?.status === 507 ? 'INSUFFICIENT_STORAGE' : 'SERVICE_UNAVAILABLE';
  t.equal(refusal?.json.error.code, code);
  t.ok(refusal?.headers['retry-after']);
  const read = await send(url, 'GET', `/items/${first.json.id}`);
  t.ok([200, 503].includes(read.status), `a read is ${read.status}`);
  if (statuses.get(507)) t.equal(read.status, 200, 'a server that runs is read from');

  free();
  await until('it writes again', async () => (await create('again')).status, 201);
  confirmed.add('again');
  const names = (await send(url, 'GET', '/items?sort=created_at')).json.map(
    ({ name }: { name: string }) => name,
  );
  for (const name of confirmed)
    t.equal(names.filter((other: string) => other === name).length > 0, true, name);
  t.equal(service.child.exitCode, null);
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 0);
});
