import { listsOf, QUERIED, type WorstQuery, worstQueries } from '../../bench/suites/worst-queries.js';
import { declare } from '../support/collections.js';
import { onlyBuiltIn } from '../support/names.js';
import type { ServiceResponse } from '../support/send.js';
import { smallService } from '../support/small-service.js';
import t from '../support/test.js';
import { isThorough } from '../support/thorough.js';

/** Requests in flight. */
const AT_ONCE = 4;
/** Records of a megabyte. */
const RECORDS = 6;

/** Why a response is none that the service may give to a query, however bad that is; undefined: it may. */
function faultOf({ path }: WorstQuery, { status, headers, text, json }: ServiceResponse): string | undefined {
  if (![200, 400, 413, 414].includes(status)) return `the status ${status}`;
  const type = String(headers['content-type']);
  if (status === 200) return text === '' ? 'no body' : undefined;
  if (text.length > 20_000) return `an error of ${text.length} bytes`;
  if (type.startsWith('text/html')) return undefined;
  const code = path.startsWith('/api/v2/') ? json?.code : json?.error?.code;
  return /^[A-Z_]+$/.test(String(code)) ? undefined : `an error without a code as ${type}`;
}

t.test('no query of a list ends a process with little memory', onlyBuiltIn('names tables'), async (t) => {
  const { request } = await smallService(t, { COLLECTIONS: declare(t, QUERIED) });
  const owner = await request('POST', '/owners', { body: { name: 'a' } });
  for (let at = 0; at < RECORDS; at++) {
    const note = 'ab é'.repeat(200_000);
    const body = { title: `ab${at}`, note, price: at, tags: ['a'], ownerId: owner.json.id };
    t.equal((await request('POST', '/things', { body })).status, 201);
  }
  const statuses = new Map<number, number>();
  // Of everything and of a parent, and of both versions.
  const [all, all2, nested, nested2] = listsOf(owner.json.id).map(worstQueries);
  const left = (isThorough ? [all!, all2!, nested!, nested2!] : [all!, nested2!]).flat();
  const worker = async () => {
    for (let query = left.pop(); query; query = left.pop()) {
      const { method, path, body, accept, name } = query;
      const response = await request(method, path, {
        ...(body === undefined ? {} : { body, type: 'application/json' }),
        headers: accept === undefined ? {} : { accept },
      });
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      const fault = faultOf(query, response);
      if (fault !== undefined) t.fail(`${name}: ${fault}: ${response.text.slice(0, 200)}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  t.ok(statuses.get(200)! > 100 && statuses.get(400)! > 100, JSON.stringify([...statuses]));
  t.equal((await request('GET', '/healthz')).status, 200);
});
