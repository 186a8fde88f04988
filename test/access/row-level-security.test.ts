import { drawing } from '../list/tracker.js';
import { openSql, SCHEMA } from '../support/sql.js';
import t from '../support/test.js';
import { seedOf, times } from '../support/thorough.js';
import { type DrawnRules, drawRules, NAMES } from './drawn-rules.js';
import { someFilter } from './reads.js';
import { policiesOf, settingsOf, sqlOf } from './rls.js';
import { World } from './world.js';

/** Policies are about rows alone. */
const withoutFields = (rules: DrawnRules): DrawnRules =>
  Object.fromEntries(
    Object.entries(rules).map(([name, grants]) => [name, grants?.map(({ fields: _, ...grant }) => grant)]),
  ) as unknown as DrawnRules;

t.test('the rules as policies of PostgreSQL show the same rows to the same queries', async (t) => {
  const seed = seedOf(t);
  const draw = drawing(seed);
  let selecting = 0;
  // The rules of a world may show all callers all records, or none: then there is one world more, up to ten times as many.
  const worlds = times(2, 3, 40);
  for (let at = 0; at < worlds || (selecting === 0 && at < 10 * worlds); at++) {
    const rules = withoutFields(drawRules(draw));
    const world = await World.open(t, rules, draw);
    const resources = new Map(world.service.collections.map(({ resource }) => [resource.name, resource]));
    const sql = openSql(world.service.databaseUrl, { max: 1 });
    const role = `reader_${process.pid}_${at}_${seed}`;
    await sql.unsafe(`create role ${role}`);
    for (const statement of policiesOf(rules, resources, role, SCHEMA)) await sql.unsafe(statement);
    for (let n = times(60, 100, 250); n > 0 && t.passing(); n--) {
      const caller = draw.pick(world.callers);
      const name = draw.pick(NAMES);
      const filter = draw.maybe(0.6) ? someFilter(name, world) : undefined;
      const response = await world.send(caller, 'QUERY', `/${name}`, {
        body: { ...(filter ? { filter } : {}), fields: ['id'], limit: 100 },
      });
      if (response.status !== 200) continue;
      const condition = filter ? sqlOf(resources, name, 'record', filter) : 'true';
      const rows = await sql.begin(async (run) => {
        for (const [setting, value] of Object.entries(settingsOf(rules, caller)))
          await run`select set_config(${setting}, ${value}, true)`;
        await run.unsafe(`set local role ${role}`);
        return run.unsafe(
          `select record.id from ${resources.get(name)!.table} as record where ${condition} order by 1`,
        );
      });
      const found = (response.json.data as { id: string }[]).map(({ id }) => id).sort();
      t.same(
        found,
        rows.map(({ id }) => String(id)),
        `${caller.label} ${name} ${JSON.stringify(filter)}`,
      );
      t.equal(response.json.meta.total, rows.length);
      if (found.length > 0 && found.length < world.model.data[name]!.length) selecting++;
    }
    if (!t.passing()) t.comment(JSON.stringify(rules));
    await sql.unsafe(`drop owned by ${role}`);
    await sql.unsafe(`drop role ${role}`);
    await sql.end();
    await world.service.stop();
  }
  t.ok(selecting > 0, `${selecting} queries show a part of the rows`);
});
