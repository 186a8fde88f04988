import { AROUND, DEFINITIONS, LEAVES, worstValues } from '../../bench/suites/worst-bodies.js';
import { declare } from '../support/collections.js';
import { onlyBuiltIn } from '../support/names.js';
import { integersOf } from '../support/runner/random.js';
import { smallService } from '../support/small-service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';
import { seedOf, times } from '../support/thorough.js';

t.test('records to include are counted before they are read', onlyBuiltIn('names tables'), async (t) => {
  const { databaseUrl, request } = await smallService(t, {});
  for (let n = 0; n < 20; n++) {
    const body = { email: `u${n}@example.org`, name: 'Ann' };
    t.equal((await request('POST', '/users', { body })).status, 201);
  }
  const sql = sqlOf(t, databaseUrl);
  await sql`with record as (
      select ('01900000-0000-7000-8000-' || lpad((row_number() over ())::text, 12, '0'))::uuid as id, users.id as user_id
      from users, generate_series(1, 20)
    )
    insert into posts (id, updated_at, user_id, doc)
    select id, now(), user_id, '{"id":"' || id || '","userId":"' || user_id || '","text":"' || repeat('x', 900000)
      || '","created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","_version":1}'
    from record`;
  for (const path of ['/users?include=posts&limit=100', '/api/v2/users?include=posts&limit=100'])
    t.equal((await request('GET', path)).status, 200, path);
  t.equal((await request('GET', '/users?include=posts&count=none&limit=1&page=30')).status, 200, 'no record');
});

type Random = (limit: number) => number;
const pick = <T>(random: Random, list: readonly T[]): T => list[random(list.length)]!;

function schemaOf(random: Random, depth: number): object {
  if (depth === 0) return pick(random, LEAVES);
  return pick(random, Object.values(AROUND))(() => schemaOf(random, depth - 1));
}

/** As large as bodies may be, with some bytes to spare for the name of the field. */
const BYTES = 1_048_000;
const WORST = Object.entries(worstValues(BYTES));

t.test('no body of a random declaration ends a process with little memory', async (t) => {
  const seed = seedOf(t);
  const random = integersOf(seed);
  // Drawn rules may refuse all of the values: a field without rules receives those that are JSON.
  const fields: (readonly [name: string, schema: object])[] = [['any', {}]];
  for (let n = 0; n < times(6, 8, 16); n++) fields.push([`f${n}`, schemaOf(random, 1 + random(3))]);
  const declaration = { type: 'object', properties: Object.fromEntries(fields), $defs: DEFINITIONS };
  const { request } = await smallService(t, { COLLECTIONS: declare(t, { 'things.json': declaration }) });
  const statuses = new Map<number, number>();
  for (const [name, schema] of fields) {
    const responses = await Promise.all(
      WORST.map(([, value]) =>
        request('POST', '/things', { body: `{"${name}":${value}}`, type: 'application/json' }),
      ),
    );
    for (const [index, { status, text, json }] of responses.entries()) {
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const isValid =
        status === 201
          ? json.id !== undefined
          : status === 400 && json.error.code !== undefined && text.length < 300_000;
      if (!isValid)
        t.fail(
          `seed ${seed}: ${status} with ${text.length} bytes for ${WORST[index]![0]}: ${JSON.stringify(schema)}`,
        );
    }
  }
  t.ok(statuses.get(400)! > 0 && statuses.get(201)! > 0, JSON.stringify([...statuses]));
  t.equal((await request('GET', '/healthz')).status, 200);
});
