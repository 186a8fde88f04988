import { migratedFolder } from '../support/migrated-folder.js';
import { serverPid, startProcess } from '../support/process.js';
import { send, testDatabase } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';
import { times } from '../support/thorough.js';
import { until, untilAtLeast, untilLength } from '../support/until.js';
import { follow } from './follow.js';
import { type ConfirmedWrite, write } from './write.js';

t.test('killed under writes: what was confirmed has its event, nothing else has one', async (t) => {
  const databaseUrl = await testDatabase(t);
  const sql = sqlOf(t, databaseUrl);
  const confirmed: ConfirmedWrite[] = [];
  let cursor = '';
  const read: string[] = [];
  for (let kill = 0; kill < times(2, 3, 10); kill++) {
    const service = startProcess(t, { DATABASE_URL: databaseUrl });
    const url = await service.ready();
    const before = confirmed.length;
    const writers = Array.from({ length: 8 }, () => write(url, confirmed).catch(() => undefined));
    const enough = 20 + kill * 60;
    // A reader beside, which goes on where it was before the kill.
    await until('some is written', async () => {
      const { json } = await send(url, 'GET', `/events?limit=1000${cursor && `&after=${cursor}`}`);
      cursor = json.meta.cursor;
      for (const { sequence } of json.data) read.push(sequence);
      return confirmed.length - before > enough;
    });
    service.child.kill('SIGKILL');
    await service.ended;
    await Promise.all(writers);
  }
  const key = ({ type, record, version }: ConfirmedWrite) => `${type} ${record} ${version}`;
  const rows = await sql<ConfirmedWrite[]>`select type, record, version from events order by seq`;
  const events = rows.map(key);
  const known = new Set(events);
  t.equal(known.size, events.length, 'no event is there twice');
  const missing = confirmed.filter((each) => !known.has(key(each)));
  t.same(missing, [], `${confirmed.length} writes that were confirmed`);
  const items = await sql<{ id: string; version: number }[]>`select id, version from items`;
  const versions = new Map(items.map(({ id, version }) => [id, version]));
  for (const text of events) {
    const [type, record, version] = text.split(' ') as [string, string, string];
    const deleted = known.has(`items.deleted ${record} 2`);
    if (!deleted && Number(version) > (versions.get(record) ?? 0)) t.fail(`${type} of nothing: ${text}`);
  }
  const last = startProcess(t, { DATABASE_URL: databaseUrl });
  const url = await last.ready();
  const readOn = async () => {
    const { json } = await send(url, 'GET', `/events?limit=1000&after=${cursor}`);
    cursor = json.meta.cursor;
    for (const { sequence } of json.data) read.push(sequence);
    return read;
  };
  await untilLength('the reader has all', readOn, events.length);
  t.same(read, [...new Set(read)].toSorted(), 'each once and in order');
});

t.test('the database crashes and comes back: a stream goes on, and misses nothing', async (t) => {
  const folder = await migratedFolder(t);
  const service = startProcess(t, { DATA_DIR: folder });
  const url = await service.ready();
  const stream = await follow(t, `${url}/events`);
  const confirmed: string[] = [];
  const create = async (name: string): Promise<boolean> => {
    const { status, json } = await send(url, 'POST', '/items', { body: { name } });
    if (status === 201) confirmed.push(`/items/${json.id}`);
    return status === 201;
  };
  for (let crash = 0; crash < times(1, 1, 3); crash++) {
    const writing = Promise.all(
      Array.from({ length: 20 }, async (_, number) => {
        for (let count = 0; count < 5; count++) await create(`${crash} ${number} ${count}`);
      }),
    );
    await untilAtLeast('some is written', () => confirmed.length, crash * 20 + 5);
    process.kill(serverPid(folder)!, 'SIGQUIT');
    await writing;
    await until('it can be written again', () => create(`after ${crash}`));
  }
  const subjects = () => stream.messages.map(({ data }) => data.subject as string);
  await until('all is published', () => {
    const published = new Set(subjects());
    return confirmed.every((subject) => published.has(subject));
  });
  t.notOk(stream.isOver());
  t.equal(new Set(subjects()).size, stream.messages.length, 'nothing is published twice');
  const ids = stream.messages.map(({ id }) => id);
  t.same(ids, ids.toSorted());
});
