import { spawn } from 'node:child_process';
import { scryptSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import bcrypt from 'bcrypt';
import type { Json } from '../../../src/json.js';
import { COMMAND, plinth, startPlinth } from '../../support/command.js';
import { byPassword } from '../../support/credentials.js';
import { folderOf } from '../../support/folder.js';
import { useRealHashCost } from '../../support/hash-cost.js';
import { migratedFolder } from '../../support/migrated-folder.js';
import { isAlive, serverPid, until } from '../../support/process.js';
import { testDatabase, testService } from '../../support/service.js';
import { sqlOf } from '../../support/sql.js';
import t, { type Test } from '../../support/test.js';
import { notInDefault } from '../../support/thorough.js';

const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../../test/fixtures/${name}`, import.meta.url));

const importFile = (t: Test, args: readonly string[], env?: Record<string, string>) =>
  plinth(t, ['import', ...args], env);

const fileOf = (t: Test, content: unknown): string =>
  join(folderOf(t, { 'records.json': content }), 'records.json');

/** A record without what the service owns. */
const own = ({ id, created_at, updated_at, _version, ...fields }: Record<string, Json>) => fields;

t.test('jsonplaceholder.json loads whole and reads back equal', async (t) => {
  const service = await testService(t);
  const file = fixture('jsonplaceholder.json');
  t.same(await importFile(t, [file], { DATABASE_URL: service.databaseUrl }), {
    code: 0,
    out: 'users: 10 stored, 0 refused\nposts: 100 stored, 0 refused\n',
    err: '',
  });
  const { users, posts } = JSON.parse(readFileSync(file, 'utf8'));
  const storedUsers = (await service.send('GET', '/users')).json;
  const newIds = new Map<number, string>();
  for (const { id, ...user } of users) {
    const stored = storedUsers.find(({ name }: { name: string }) => name === user.name);
    newIds.set(id, stored.id);
    t.ok(isDeepStrictEqual(own(stored), { ...user, email: user.email.toLowerCase() }), user.name);
  }
  const storedPosts = (await service.send('GET', '/posts')).json;
  for (const { id, ...post } of posts) {
    const stored = storedPosts.find(
      ({ title, body }: { title: string; body: string }) => title === post.title && body === post.body,
    );
    t.ok(isDeepStrictEqual(own(stored), { ...post, userId: newIds.get(post.userId)! }), post.title);
  }
  t.equal((await service.send('GET', `/users/${newIds.get(3)}/posts`)).json.length, 10);
});

t.test('dummyjson-products.json loads whole as items and reads back equal', async (t) => {
  const service = await testService(t);
  const file = fixture('dummyjson-products.json');
  const env = { DATABASE_URL: service.databaseUrl };
  const { code, out } = await importFile(t, [file, '--as', 'items', '--rename', 'title=name'], env);
  t.same([code, out], [0, 'items: 194 stored, 0 refused\n']);
  const content = JSON.parse(readFileSync(file, 'utf8'));
  const products = Array.isArray(content) ? content : content.products;
  const items = (await service.send('GET', '/items?order=asc')).json;
  t.equal(items.length, 194);
  const bySku = new Map(items.map((item: { sku: string }) => [item.sku, item]));
  for (const { id, title, ...product } of products) {
    const stored = own(bySku.get(product.sku) as Record<string, Json>);
    t.ok(isDeepStrictEqual(stored, { ...product, name: title }), title);
  }
});

t.test('users come with hashes, which a sign-in replaces', { skip: notInDefault }, async (t) => {
  useRealHashCost(t);
  const service = await testService(t, { AUTH: 'basic', INSECURE: 'basic', AUTH_FAILURES: '0' });
  const password = 'correct battery staple';
  const salt = Buffer.from('0123456789abcdef');
  const key = scryptSync(password, salt, 32, { N: 1024, r: 8, p: 1 });
  const scrypt = `scrypt$1024$8$1$${salt.toString('base64url')}$${key.toString('base64url')}`;
  const bcrypted = bcrypt.hashSync(password, 4);
  const long = 'ä'.repeat(40);
  const ofCost = (N: number, r: number, p: number) => scrypt.replace('1024$8$1', `${N}$${r}$${p}`);
  const hashes: Record<string, unknown> = {
    scrypt,
    a: bcrypted.replace('$2b', '$2a'),
    b: bcrypted,
    y: bcrypted.replace('$2b', '$2y'),
    long: bcrypt.hashSync(long, 4),
  };
  const refused: Record<string, unknown> = {
    memory: ofCost(2 ** 20, 8, 1),
    time: ofCost(2 ** 15, 8, 100),
    power: ofCost(1000, 8, 1),
    parameters: ofCost(0, 0, 0),
    unsalted: scrypt.replace(salt.toString('base64url'), ''),
    cost: bcrypted.replace('$04$', '$15$'),
    cheap: bcrypted.replace('$04$', '$03$'),
    cut: bcrypted.slice(0, -1),
    sha: 'sha256$0123',
    number: 7,
  };
  const users = Object.entries({ ...hashes, ...refused }).map(([name, password_hash]) => ({
    name,
    email: `${name}@example.org`,
    password_hash,
  }));
  users.push({ name: 'both', email: 'both@example.org', password_hash: scrypt, password } as never);
  const { out, err } = await importFile(t, [fileOf(t, { users })], { DATABASE_URL: service.databaseUrl });
  t.equal(out, 'users: 5 stored, 11 refused\n');
  const lines = err.trim().split('\n');
  t.equal(lines.length, 11);
  for (const line of lines) t.match(line, /^users\[\d+\]\/password_hash: must /);
  const sql = sqlOf(t, service.databaseUrl);
  const hashOf = async (name: string): Promise<string> => {
    const email = `${name}@example.org`;
    return (await sql`select hash from passwords join users on user_id = id where email = ${email}`)[0]!.hash;
  };
  const signIn = async (name: string, password: string) => {
    const headers = byPassword(`${name}@example.org`, password);
    return (await service.send('GET', '/whoami', { headers })).status;
  };
  for (const name of ['scrypt', 'a', 'b', 'y']) {
    t.equal(await signIn(name, `${password}!`), 401, name);
    t.equal(await hashOf(name), hashes[name], 'a wrong password changes nothing');
    t.equal(await signIn(name, password), 200, name);
    await until('the hash is a new one', async () => (await hashOf(name)).startsWith('scrypt$32768$8$3$'));
    t.equal(await signIn(name, password), 200, name);
  }
  t.equal(await signIn('long', `${long}, and what bcrypt ignores`), 200, '72 bytes decide');
  t.equal(await hashOf('long'), hashes.long, 'such a password replaces no hash');
  const [row] = await sql`select string_agg(doc, '') as docs from users`;
  t.notMatch(row!.docs, /password/);
});

t.test('--strict stores nothing of the first batch with a refused record', async (t) => {
  const service = await testService(t);
  const file = fileOf(t, { items: [{ name: 'a' }, {}, { name: 'c' }], posts: [] });
  const { code, out, err } = await importFile(t, [file, '--strict'], { DATABASE_URL: service.databaseUrl });
  t.same([code, out], [1, 'items: 0 stored, 1 refused\n']);
  t.equal(err, 'items[1]/name: is required\n');
});

t.test('what cannot be loaded at all is one clear line, and loads nothing', async (t) => {
  const env = { DATABASE_URL: await testDatabase(t) };
  const valid = fileOf(t, { items: [{ name: 'a' }] });
  const pets = fileOf(t, { items: [{ name: 'a' }], pets: [] });
  for (const [args, line, usage = false] of [
    [[], /import needs .*FILE/, true],
    [[valid, '--what'], /--what/, true],
    [[valid, '--rename', 'x'], /FROM=TO/, true],
    [['/nowhere.json'], /cannot be read/],
    [[fileOf(t, '{"items": [')], /not valid JSON/],
    [[fileOf(t, '[]')], /--as/],
    [[fileOf(t, { items: {} })], /items is not an array/],
    [[pets], /no collection pets: there are users, items, posts/],
    [[fileOf(t, { a: [], b: [] }), '--as', 'items'], /one array/],
  ] as const) {
    const { code, out, err } = await importFile(t, args, env);
    t.match({ code, out, err: err.split('\n')[0] }, { code: 64, out: '', err: line });
    t.equal(err.includes('usage:'), usage, 'the usage for wrong usage only');
  }
});

t.test('a signal ends it with the embedded database', async (t) => {
  const folder = await migratedFolder(t);
  const items = Array.from({ length: 50_000 }, (_, at) => ({ name: `item ${at}` }));
  const { child, ended } = startPlinth(t, ['import', fileOf(t, { items })], { DATA_DIR: folder });
  const pid = await until('the server runs', () => serverPid(folder));
  child.kill('SIGINT');
  t.equal(await ended, 130);
  await until('the server has ended', () => !isAlive(pid));
});

/** Erases the rest of a terminal's line. */
const ERASED = '\x1b[K';

t.test('a terminal shows progress in one line, which the report replaces', async (t) => {
  const databaseUrl = await testDatabase(t);
  const lamps = Array.from({ length: 10_000 }, (_, at) => ({ name: `Lamp ${at}`, price: at }));
  const file = fileOf(t, lamps);
  const command = [process.execPath, COMMAND, 'import', 'items', file].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl },
  });
  let shown = '';
  child.stdout.on('data', (chunk) => {
    shown += chunk;
  });
  const code = await new Promise((resolve) => child.on('close', resolve));
  t.equal(code, 0);
  const lines = shown.split('\r').map((line) => line.replaceAll(ERASED, ''));
  t.ok(lines.some((line) => /^items: \d+ records \(\d+%\)$/.test(line)));
  t.match(lines.findLast((line) => line.trim() !== '')?.trim(), /^items: 10000 stored, 0 refused$/);
});
