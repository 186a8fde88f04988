import http from 'node:http';
import { faultOf, type Operation } from '../support/history.js';
import { startProcess } from '../support/process.js';
import { integersOf } from '../support/runner/random.js';
import { testDatabase } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { seedOf, times } from '../support/thorough.js';

const HISTORIES = times(20, 40, 300);
const CLIENTS = 6;
const OPERATIONS = 7;
const RECORDS = 2;

interface Observed {
  readonly status: number;
  readonly etag: number | undefined;
  /** 503 with Retry-After: nothing was done, and one may ask again. */
  readonly busy: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the service says
  readonly json: any;
}

function requester(
  url: string,
): (method: string, path: string, headers?: Record<string, string>, body?: object) => Promise<Observed> {
  const agent = new http.Agent({ keepAlive: true });
  const { hostname, port } = new URL(url);
  return (method, path, headers = {}, body) =>
    new Promise((resolve, reject) => {
      const bytes = body === undefined ? undefined : JSON.stringify(body);
      const type =
        bytes === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(bytes) };
      const request = http.request(
        { hostname, port, method, path, agent, headers: { ...type, ...headers } },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk) => {
            text += chunk;
          });
          response.on('end', () => {
            const version = /^"(\d+)"$/.exec(response.headers.etag ?? '')?.[1];
            resolve({
              status: response.statusCode!,
              etag: version === undefined ? undefined : Number(version),
              busy: response.statusCode === 503 && response.headers['retry-after'] !== undefined,
              json: text === '' ? undefined : JSON.parse(text),
            });
          });
        },
      );
      request.on('error', reject);
      request.end(bytes);
    });
}

type Send = ReturnType<typeof requester>;

/** Two services as they are run, on one database, for all tests. */
const services = await twoServices(t);

async function twoServices(t: Test): Promise<[Send, Send]> {
  const databaseUrl = await testDatabase(t);
  const processes = [
    startProcess(t, { DATABASE_URL: databaseUrl }),
    startProcess(t, { DATABASE_URL: databaseUrl }),
  ];
  const [a, b] = await Promise.all(processes.map((process) => process.ready()));
  return [requester(a!), requester(b!)];
}

t.test('records behave as single copies, through any service', async (t) => {
  const seed = seedOf(t);
  const pick = integersOf(seed);
  let [checked, total] = [0, 0];
  for (let history = 0; history < HISTORIES; history++) {
    const { operations, refusals } = await record(services, pick);
    total += operations.length;
    for (const id of new Set(operations.map((operation) => operation.id))) {
      const fault = faultOf(operations.filter((operation) => operation.id === id));
      if (fault !== undefined) t.fail(`history ${history} of seed ${seed}: ${fault}`);
      checked++;
    }
    if (operations.length + refusals !== RECORDS + CLIENTS * OPERATIONS) t.fail('operations are missing');
  }
  t.comment(`${HISTORIES} histories, ${total} operations, ${checked} records`);
  t.equal(checked, HISTORIES * RECORDS);
});

interface History {
  readonly operations: readonly Operation[];
  /** Operations that were refused for now. */
  readonly refusals: number;
}

/** Lets clients loose on new records; gives what each requested and what it got. */
async function record(services: readonly Send[], pick: (below: number) => number): Promise<History> {
  const operations: Operation[] = [];
  let refusals = 0;
  let clock = 0;
  let values = 0;

  async function ask(
    kind: Operation['kind'],
    id: string,
    send: () => Promise<Observed>,
    more: Partial<Operation>,
  ): Promise<Observed> {
    const began = ++clock;
    const response = await send();
    const current = response.json?.error?.details?.current;
    const version = response.etag ?? current?._version;
    const value = response.json?.value ?? current?.value;
    const ended = ++clock;
    // A refusal says nothing about the record; had it written after all, a version would be missing.
    if (response.busy) {
      refusals++;
      return response;
    }
    operations.push({
      id: id || response.json.id,
      kind,
      began,
      ended,
      status: response.status,
      ...(version === undefined ? {} : { version }),
      ...(value === undefined ? {} : { value }),
      ...more,
    });
    return response;
  }

  const ids: string[] = [];
  for (let n = 0; n < RECORDS; n++) {
    const value = `v${values++}`;
    const created = await ask(
      'create',
      '',
      () => services[n % 2]!('POST', '/items', {}, { name: 'x', value }),
      { sent: value },
    );
    ids.push(created.json.id);
  }

  const client = async (number: number, pick: (below: number) => number): Promise<void> => {
    const known = new Map<string, number>();
    for (let n = 0; n < OPERATIONS; n++) {
      const id = ids[pick(RECORDS)]!;
      const send = services[(number + n) % 2]!;
      const path = `/items/${id}`;
      const expected = known.get(id) ?? 1;
      const ifMatch = { 'if-match': `"${expected}"` };
      const value = `v${values++}`;
      const choice = pick(40);
      let response: Observed;
      if (choice < 14) response = await ask('read', id, () => send('GET', path), {});
      else if (choice < 18)
        response = await ask('read', id, () => send('GET', path, { 'if-none-match': `"${expected}"` }), {
          expected,
        });
      else if (choice < 26)
        response = await ask('write', id, () => send('PATCH', path, ifMatch, { value }), {
          expected,
          sent: value,
        });
      else if (choice < 33)
        response = await ask('write', id, () => send('PATCH', path, {}, { value }), { sent: value });
      else if (choice < 38)
        response = await ask(
          'write',
          id,
          () => send('PUT', path, {}, { name: 'x', value, _version: expected }),
          { expected, sent: value },
        );
      else if (choice < 39)
        response = await ask('delete', id, () => send('DELETE', path, ifMatch), { expected });
      else response = await ask('delete', id, () => send('DELETE', path), {});
      if (response.etag !== undefined) known.set(id, response.etag);
    }
  };
  // The requests of a client depend on the seed alone, not on which response came first.
  const seeds = Array.from({ length: CLIENTS }, () => pick(2 ** 31));
  await Promise.all(
    Array.from({ length: CLIENTS }, (_, number) => client(number, integersOf(seeds[number]!))),
  );
  return { operations, refusals };
}

t.test('what one service confirmed, the other shows', async (t) => {
  const misses: string[] = [];
  const expect = (holds: boolean, what: string) => void (holds || misses.push(what));
  const client = async (number: number): Promise<void> => {
    for (let n = 0; n < times(1, 2, 8); n++) {
      const [here, there] = [services[(number + n) % 2]!, services[(number + n + 1) % 2]!];
      const name = `client${number} round${n} end`;
      const { id } = (await here('POST', '/items', {}, { name })).json;
      expect((await there('GET', `/items/${id}`)).json?.name === name, 'a record that was created');
      const page = (await there('GET', `/items?page=1&search=${encodeURIComponent(name)}`)).json;
      expect(page.meta.total === 1 && page.data[0].id === id, 'a search that finds it');
      expect(
        (await there('GET', '/items?sort=name')).json.some((item: { id: string }) => item.id === id),
        'an array that holds it',
      );
      await here('PATCH', `/items/${id}`, {}, { n });
      expect((await there('GET', `/items/${id}`)).json?.n === n, 'a record that was changed');
      await here('DELETE', `/items/${id}`);
      expect((await there('GET', `/items/${id}`)).status === 404, 'a record that was deleted');
      const rest = (await there('GET', `/items?page=1&search=${encodeURIComponent(name)}`)).json;
      expect(rest.meta.total === 0 && rest.data.length === 0, 'a search that finds it no more');
      const left = (await there('GET', '/items?sort=name')).json;
      expect(!left.some((item: { id: string }) => item.id === id), 'an array that holds it no more');
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, number) => client(number)));
  t.same(misses, []);
});

t.test('64 clients that append to one record lose nothing', async (t) => {
  const clients = 64;
  const rounds = times(4, 8, 50);
  for (const using of [1, 2]) {
    const { id } = (await services[0]('POST', '/items', {}, { name: 'x', list: [] })).json;
    const statuses = new Map<number, number>();
    const append = async (number: number, n: number): Promise<void> => {
      const patch = [{ op: 'add', path: '/list/-', value: `${number}-${n}` }];
      const response = await services[number % using]!(
        'PATCH',
        `/items/${id}`,
        { 'content-type': 'application/json-patch+json', prefer: 'return=minimal' },
        patch,
      );
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      if (response.busy) await append(number, n);
    };
    const client = async (number: number): Promise<void> => {
      for (let n = 0; n < rounds; n++) await append(number, n);
    };
    await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
    const { list, _version } = (await services[1]('GET', `/items/${id}`)).json;
    t.equal(new Set(list).size, clients * rounds, `through ${using}`);
    t.equal(list.length, clients * rounds);
    t.equal(_version, clients * rounds + 1);
    t.same(
      [...statuses.keys()].filter((status) => status !== 204 && status !== 503),
      [],
    );
    t.comment(`through ${using}: ${JSON.stringify([...statuses])}`);
  }
});
