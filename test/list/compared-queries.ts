import type postgres from 'postgres';
import type { Resource } from '../../src/collection/resource.js';
import { CITUS } from '../../src/database-url/engine.js';
import type { JsonObject } from '../../src/json.js';
import { parametersIn } from '../../src/list/comparison-sql.js';
import { recordsSql } from '../../src/list/condition-sql.js';
import { readList } from '../../src/list/read-list.js';
import type { TestService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import type { Test } from '../support/test.js';
import { recordsIn } from '../support/words.js';
import { fulfils, orderOf } from './evaluator.js';
import { drawSort, filters } from './filters.js';
import type { World } from './tracker.js';

/** The ids that the source of Citus has for a query, read from PostgreSQL, which has its syntax as well; undefined: Citus has no arrays of references. */
async function onCitus(
  resources: ReadonlyMap<string, Resource>,
  sql: postgres.Sql,
  name: string,
  address: string,
): Promise<string[] | undefined> {
  const given = new URLSearchParams(address.slice(address.indexOf('?')));
  const others = (other: string) => ({ resource: resources.get(other)!, access: undefined });
  const { selection } = readList(given, { resource: resources.get(name)! }, { lists: 'numbered', others });
  if (JSON.stringify(selection.conditions).includes('"links":')) return undefined;
  const args: string[] = [];
  const records = recordsSql(resources.get(name)!, selection, parametersIn(args), CITUS);
  const rows = await sql.unsafe(`select record.id from ${records}`, args);
  return rows.map(({ id }) => String(id)).sort();
}

/** The ids of all pages that follow one another, from the first one on or back from a page to the first. */
async function idsOfPages(
  service: TestService,
  first: string,
  rel: 'next' | 'prev',
): Promise<[string[], string]> {
  let address: string | null = first;
  let [found, last]: [string[], string] = [[], first];
  while (address !== null) {
    const { json }: { json: JsonObject } = await service.send('GET', address);
    const ids = (json.data as JsonObject[]).map(({ id }) => String(id));
    found = rel === 'next' ? [...found, ...ids] : [...ids, ...found];
    last = address;
    const link = (json.links as JsonObject)[rel];
    address = link === null ? null : String(link);
  }
  return [found, last];
}

/** Compares the responses to so many drawn queries with what plain JavaScript selects from the records. */
export async function compareQueries(
  t: Test,
  { service, draw, schema, data }: World,
  count: number,
): Promise<void> {
  const { relations } = schema;
  const resources = new Map(service.collections.map(({ resource }) => [resource.name, resource]));
  const sql = sqlOf(t, service.databaseUrl);
  const drawFilter = filters(data, draw, schema);
  const idsOf = (records: readonly JsonObject[]) => records.map(({ id }) => String(id));
  // As the connections for short statements have them.
  await sql`set enable_seqscan = off`;
  let [compared, selecting] = [0, 0];
  // Chance may draw filters that select everything or nothing: then up to ten times as many are drawn.
  const isEnough = () => compared >= count && (selecting > count / 6 || compared >= 10 * count);
  while (!isEnough()) {
    const name = draw.pick(Object.keys(relations));
    const filter = draw.maybe(0.1) ? {} : drawFilter(name, 1 + draw.next(5), 3);
    const sort = drawSort(draw, name, schema);
    const expected = idsOf(
      data[name]!.filter((record) => fulfils(data, relations, name, record, filter)).sort(
        orderOf(data, relations, name, sort),
      ),
    );
    const body = { filter, sort, fields: ['id'], limit: 100 };
    const shown = JSON.stringify({ filter, sort });
    const found = await service.send('QUERY', `/${name}`, { body });
    if (found.status !== 200) {
      const message = /has more than (50 conditions|20 relations)|at most 24/;
      t.match(found.json.error, { code: 'INVALID_QUERY', message }, shown);
      continue;
    }
    compared++;
    if (expected.length > 0 && expected.length < data[name]!.length) selecting++;
    t.same(idsOf(found.json.data), expected, shown);
    t.equal(found.json.meta.total, expected.length, `the total of ${shown}`);
    const address = found.headers.location;
    const citus =
      address !== undefined && draw.maybe(0.3) ? await onCitus(resources, sql, name, address) : undefined;
    if (citus) t.same(citus, expected.toSorted(), `with the statements of Citus: ${shown}`);
    if (address === undefined || !draw.maybe(0.3)) continue;
    const query = address.slice(address.indexOf('?') + 1);
    t.same(idsOf((await service.send('GET', address)).json.data), expected, address);
    const limit = 1 + draw.next(9);
    const page = 1 + draw.next(4);
    const places = query.replace('limit=100', `page=${page}&limit=${limit}`);
    const numbered = idsOf((await service.send('GET', `/${name}?${places}&count=none`)).json.data);
    t.same(
      numbered,
      expected.slice((page - 1) * limit, page * limit),
      `page ${page} of ${limit}: ${address}`,
    );
    const next = await service.send('GET', `/api/v2/${name}?${query}&count=exact`);
    t.same(idsOf(next.json.data), expected, `version 2: ${address}`);
    t.equal(next.json.meta.total, expected.length, `the total of version 2: ${address}`);
    if (draw.maybe(0.2)) {
      const first = `/api/v2/${name}?${query.replace('limit=100', `limit=${limit}`)}`;
      const [forwards, last] = await idsOfPages(service, first, 'next');
      t.same(forwards, expected, `between cursors: ${first}`);
      const [backwards] = await idsOfPages(service, last, 'prev');
      t.same(backwards, expected, `backwards: ${first}`);
    }
    const lines = await service.send('GET', `/${name}?${query.replace(/&?limit=100/, '')}`, {
      headers: { accept: 'application/x-ndjson' },
    });
    t.same(idsOf(recordsIn(lines.text)), expected, `as lines: ${address}`);
  }
  t.comment(`${compared} queries compared`);
  t.ok(selecting > count / 6, `${selecting} of ${compared} filters select a part of the records`);
}
