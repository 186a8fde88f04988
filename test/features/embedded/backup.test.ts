import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../../src/json.js';
import { plinth } from '../../support/command.js';
import { migratedFolder } from '../../support/migrated-folder.js';
import { pause } from '../../support/pause.js';
import { dataFolder, startProcess } from '../../support/process.js';
import { send } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { until, untilAtLeast } from '../../support/until.js';

interface State {
  readonly events: { readonly id: string; readonly data: { readonly name: string } }[];
  readonly items: { readonly name: string }[];
  readonly users: JsonObject[];
}

/** Records of a service, all of its events, and its users. */
async function stateOf(url: string): Promise<State> {
  const read = async (path: string) => (await send(url, 'GET', path)).json;
  const events: State['events'] = [];
  for (let path = '/events?limit=1000'; ; ) {
    const { data, meta, links } = await read(path);
    events.push(...data);
    if (!meta.more)
      return { events, items: await read('/items?sort=created_at'), users: await read('/users') };
    path = links.next;
  }
}

/** Starts a service on a data folder, for `work`. */
async function onFolder<T>(t: Test, DATA_DIR: string, work: (url: string) => Promise<T>): Promise<T> {
  const service = startProcess(t, { DATA_DIR, LOG_LEVEL: 'error' });
  const result = await work(await service.ready());
  service.child.kill('SIGTERM');
  await service.ended;
  return result;
}

t.test('a backup of a quiet service has exactly its records, events and users', async (t) => {
  const [data, restored] = [await migratedFolder(t), await dataFolder(t)];
  const backup = join(await dataFolder(t), 'monday');
  rmSync(restored, { recursive: true });
  const before = await onFolder(t, data, async (url) => {
    const body = { name: 'Ann', email: 'ann@example.org', password: 'correct horse battery' };
    t.equal((await send(url, 'POST', '/users', { body })).status, 201);
    for (let n = 0; n < 30; n++) await send(url, 'POST', '/items', { body: { name: `n${n}`, price: n } });
    const state = await until(
      'all events are final',
      () => stateOf(url),
      ({ events }) => events.length === 31,
    );
    const made = await plinth(t, ['backup', backup, '--json'], { DATA_DIR: data });
    t.match(made, { code: 0, err: '' });
    t.match(JSON.parse(made.out), { folder: backup, files: Number, bytes: Number });
    t.match(await plinth(t, ['backup', backup], { DATA_DIR: data }), { code: 69, err: /exists already/ });
    for (const within of ['new', 'base/1/new', 'x/../new/../new']) {
      const args = ['backup', `${data}/postgres/${within}`];
      t.match(await plinth(t, args, { DATA_DIR: data }), { code: 69, err: /is within the database/ }, within);
    }
    t.equal((await send(url, 'POST', '/items', { body: { name: 'later' } })).status, 201);
    return state;
  });
  const done = await plinth(t, ['restore', backup], { DATA_DIR: restored });
  t.match(done, { code: 0, err: '', out: /^Restored the database of / });
  t.match(await plinth(t, ['restore', backup], { DATA_DIR: restored }), { code: 69, err: /exists already/ });
  await onFolder(t, restored, async (url) => {
    t.same(await stateOf(url), before);
    const { headers } = await send(url, 'GET', '/users');
    t.ok(headers['events-cursor']);
    t.equal((await send(url, 'POST', '/items', { body: { name: 'after' } })).status, 201);
    const { events } = await until(
      'it is final',
      () => stateOf(url),
      (now) => now.events.length === 32,
    );
    const ids = events.map(({ id }) => id);
    t.equal(new Set(ids).size, ids.length);
  });
  t.ok(existsSync(join(backup, 'postgres', 'backup_label')), 'the backup can be restored again');
  t.same(readdirSync(join(restored)).sort(), ['claim', 'postgres'], 'no part is left');
});

t.test('a backup beside writers has a moment of each, and no torn write', async (t) => {
  const [data, restored] = [await migratedFolder(t), await dataFolder(t)];
  const backup = join(await dataFolder(t), 'busy');
  const acknowledged = await onFolder(t, data, async (url) => {
    let isOver = false;
    const names: string[] = [];
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let n = 0; !isOver; n++) {
        const name = `${writer}-${n}`;
        const batch = { body: { name } };
        if ((await send(url, 'POST', '/items', batch)).status === 201) names.push(name);
        // Leaves processor time to the backup.
        await pause(60);
      }
    });
    await untilAtLeast('there are records', async () => names.length, 101);
    const before = [...names];
    const made = await plinth(t, ['backup', backup], { DATA_DIR: data });
    isOver = true;
    await Promise.all(writers);
    t.match(made, { code: 0, err: '' });
    return { before, all: new Set(names) };
  });
  t.match(await plinth(t, ['restore', backup], { DATA_DIR: restored }), { code: 0 });
  await onFolder(t, restored, async (url) => {
    const isFinal = (state: State) => state.events.length === state.items.length;
    const { items, events } = await until('all events are final', () => stateOf(url), isFinal);
    const names = items.map(({ name }) => name);
    const stored = new Set(names);
    for (const name of acknowledged.before) t.ok(stored.has(name), name);
    t.equal(stored.size, names.length);
    // The log is a sequence: of each writer, the records up to some number.
    for (let writer = 0; writer < 8; writer++) {
      const own = names.filter((name) => name.startsWith(`${writer}-`));
      const numbers = own.map((name) => Number(name.split('-')[1])).sort((a, b) => a - b);
      t.same(numbers.join(), [...numbers.keys()].join(), `writer ${writer}`);
    }
    const described = events.map((event) => event.data.name).sort();
    t.same(described, names.sort());
  });
});

t.test('what cannot be backed up or restored is said in one line', async (t) => {
  const folder = await dataFolder(t);
  const DATABASE_URL = 'postgres://127.0.0.1:1/none';
  for (const command of ['backup', 'restore']) {
    const elsewhere = await plinth(t, [command, join(folder, 'x')], { DATABASE_URL });
    t.match(elsewhere, { code: 1, err: /DATABASE_URL/ });
    t.match(await plinth(t, [command]), { code: 64, err: /needs FOLDER/ });
  }
  const DATA_DIR = join(folder, 'none');
  t.match(await plinth(t, ['restore', folder], { DATA_DIR }), { code: 69, err: /is not a complete backup/ });
  const none = await plinth(t, ['backup', join(folder, 'y')], { DATA_DIR });
  t.match(none, { code: 69, err: /there is no database/ });
  t.notOk(existsSync(join(DATA_DIR, 'postgres')), 'nothing is made');
});
