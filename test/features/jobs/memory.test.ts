import http from 'node:http';
import { text } from 'node:stream/consumers';
import { memoryOf } from '../../../bench/harness/proc.js';
import type { ServiceResponse } from '../../support/service.js';
import { smallService } from '../../support/small-service.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';

const MiB = 1_048_576;
/** Bytes of a body, and of a line: more than a process with its own 100 MB may have. */
const [BODY, LINE] = [128 * MiB, 96 * MiB];
const HEAP_MIB = 64;
const MAX_RESIDENT_KIB = 224 * 1024;

const NDJSON = 'application/x-ndjson';
const CSV = 'text/csv';

/** Sends a body of parts, each as often as its number says, until there is a response. */
async function pour(
  url: string,
  type: string,
  prefer: string,
  parts: readonly (readonly [part: Buffer, count: number])[],
): Promise<{ status: number; body: string; location: string | undefined }> {
  const headers = { 'content-type': type, ...(prefer === '' ? {} : { prefer }) };
  const request = http.request(`${url}/items`, { method: 'POST', headers, agent: false });
  const responded = new Promise<http.IncomingMessage>((resolve, reject) => {
    request.on('response', resolve);
    request.on('error', reject);
  });
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  const over = responded.then(end, end);
  const drained = () => new Promise<void>((resolve) => request.once('drain', resolve));
  for (const [part, count] of parts)
    for (let n = 0; n < count && !isOver; n++)
      if (!request.write(part)) await Promise.race([drained(), over]);
  request.end();
  const response = await responded;
  const body = await text(response);
  request.destroy();
  return { status: response.statusCode!, body, location: response.headers.location };
}

const filled = (part: string, bytes = MiB): Buffer =>
  Buffer.from(part.repeat(Math.ceil(bytes / part.length)));

const linesIn = (part: Buffer): number => part.reduce((sum, byte) => sum + Number(byte === 0x0a), 0);

t.test('large bodies take little memory, whatever they contain', async (t) => {
  const { url, pid, request } = await smallService(
    t,
    { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` },
    { bulkBytes: BODY, jobBytes: BODY, bulkRecords: 10_000_000 },
  );
  const ended = (location: string | undefined) =>
    until(
      'the job has ended',
      () => request('GET', location!),
      ({ json }: ServiceResponse) => ['done', 'failed'].includes(json.state),
      600_000,
    );
  const [lenient, job] = ['handling=lenient', 'respond-async, handling=lenient'];
  const record = Buffer.from(`${JSON.stringify({ name: 'x', more: 'x'.repeat(400_000) })}\n`);
  const wrong = Buffer.from(`${JSON.stringify({ name: 1, more: 'x'.repeat(20_000) })}\n`);
  const header = Buffer.from('name,price\n');
  const within = (line: Buffer, bytes: number) => Math.floor(bytes / line.length);
  type Parts = [part: Buffer, count: number][];
  const rows: Parts = [
    [header, 1],
    [filled(',x\n', MiB / 4), 1],
  ];
  const bodies: [name: string, type: string, parts: (bytes: number) => Parts, isStored?: boolean][] = [
    ['valid records', NDJSON, (bytes) => [[record, within(record, bytes)]], true],
    ['refused records', NDJSON, (bytes) => [[wrong, within(wrong, bytes)]]],
    ['refused lines of two bytes', NDJSON, () => [[filled('0\n', MiB / 4), 1]]],
    ['refused rows of three bytes', CSV, () => rows],
  ];
  for (const [name, type, partsOf, isStored] of bodies) {
    const metaOf = (parts: Parts) => {
      const lines = parts.map(([part, count]) => (part === header ? 0 : count * linesIn(part)));
      const records = lines.reduce((sum, each) => sum + each);
      return { records, ...(isStored ? { refused: 0 } : { stored: 0 }) };
    };
    const parts = partsOf(BODY);
    const sync = await pour(url, type, lenient, parts);
    t.equal(sync.status, 201, `${name}: ${sync.body.slice(0, 300)}`);
    t.match(JSON.parse(sync.body).meta, metaOf(parts), name);
    const { status, location } = await pour(url, type, job, parts);
    t.equal(status, 202, name);
    t.match((await ended(location)).json, { state: 'done', report: { meta: metaOf(parts) } }, name);
  }
  const endlessOf = (begin: string): Parts => [
    [Buffer.from(begin), 1],
    [filled('x'), LINE / MiB],
  ];
  const endless: [name: string, type: string, parts: Parts][] = [
    ['a line without an end', NDJSON, endlessOf('{"name":"')],
    ['a cell without an end', CSV, endlessOf('name,price\n"')],
    ['a header without an end', CSV, [[filled('name'), LINE / MiB]]],
  ];
  for (const [name, type, parts] of endless) {
    const sync = await pour(url, type, lenient, parts);
    t.ok([400, 413].includes(sync.status), `${name}: ${sync.status}`);
    const { status, location } = await pour(url, type, job, parts);
    t.equal(status, 202, name);
    t.match((await ended(location)).json, { state: 'failed', error: { status: sync.status } }, name);
  }
  const more = await pour(url, NDJSON, lenient, [[wrong, within(wrong, BODY) + 100]]);
  t.equal(more.status, 413, 'more than a body may have');
  t.equal((await request('GET', '/healthz')).status, 200);
  const peak = memoryOf(pid)?.peak;
  if (peak === undefined) return t.comment('the peak memory of a process is unknown here');
  t.comment(`the peak was ${Math.round(peak / 1024)} MiB`);
  t.ok(peak < MAX_RESIDENT_KIB, `${peak} KiB`);
});
