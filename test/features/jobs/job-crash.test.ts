import { startProcess } from '../../support/process.js';
import { type ServiceResponse, send, testDatabase } from '../../support/service.js';
import { sqlOf } from '../../support/sql.js';
import t from '../../support/test.js';
import { some, times } from '../../support/thorough.js';
import { until } from '../../support/until.js';

const RECORDS = times(8000, 20_000);
const BODY = Array.from({ length: RECORDS }, (_, n) =>
  JSON.stringify({ name: `n${n}`, text: 'x'.repeat(500) }),
).join('\n');

for (const handling of some(['lenient', 'strict'], 1))
  t.test(`another process continues a ${handling} job, and each record is stored once`, async (t) => {
    const databaseUrl = await testDatabase(t);
    const sql = sqlOf(t, databaseUrl);
    const env = { DATABASE_URL: databaseUrl };
    const first = startProcess(t, env);
    const url = await first.ready();
    const accepted = await send(url, 'POST', '/items', {
      type: 'application/x-ndjson',
      body: BODY,
      headers: { prefer: `respond-async, handling=${handling}` },
    });
    t.equal(accepted.status, 202);
    const location = accepted.headers.location!;
    await until(
      'some records are stored',
      () => send(url, 'GET', location),
      ({ json }: ServiceResponse) => json.progress.stored > 0,
    );
    process.kill(first.child.pid!, 'SIGKILL');
    t.equal(await first.ended, 'SIGKILL');
    const [job] = await sql`select state from plinth_jobs`;
    t.equal(job!.state, 'running', 'the process ended within the job');
    // The lease of the process ends.
    await sql`update plinth_jobs set leased_until = now()`;
    const others = await Promise.all(
      [startProcess(t, env), startProcess(t, env)].map((each) => each.ready()),
    );
    const { json } = await until(
      'the job is done',
      () => send(others[0]!, 'GET', location),
      ({ json }: ServiceResponse) => json.state === 'done',
    );
    t.match(json, { report: { meta: { records: RECORDS, stored: RECORDS, refused: 0 } } });
    const [count] =
      await sql`select count(*)::int as records, count(distinct doc::json->>'name')::int as names from items`;
    t.match(count, { records: RECORDS, names: RECORDS });
    const [events] = await sql`select count(*)::int as number from events where type like '%created'`;
    t.equal(events!.number, RECORDS);
    t.same(await sql`select from plinth_job_parts`, [], 'the body is not stored any longer');
  });
