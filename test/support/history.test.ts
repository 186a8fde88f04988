import { faultOf, type Operation } from './history.js';
import t from './test.js';

let clock = 0;
type When = [began?: number, ended?: number];
const at = (fields: Partial<Operation>, began = ++clock, ended = ++clock): Operation => ({
  ...{ id: 'a', kind: 'read', status: 200, began, ended },
  ...fields,
});
const wrote = (version: number, value: string, expected?: number, ...when: When) =>
  at({ kind: 'write', version, value, ...(expected !== undefined && { expected }) }, ...when);
const read = (version: number, value: string, ...when: When) => at({ version, value }, ...when);
const removed = (expected?: number, ...when: When) =>
  at({ kind: 'delete', status: 204, ...(expected !== undefined && { expected }) }, ...when);
const absent = (...when: When) => at({ status: 404 }, ...when);
/** A write that a precondition refused, with what the refusal shows. */
const refused = (version: number, more: Partial<Operation> = {}) =>
  at({ kind: 'write', status: 412, expected: 1, version, ...more });
const create = at({ kind: 'create', status: 201, version: 1, value: 'a' });
const write = wrote(2, 'b', 1);

t.test('histories that one copy could have produced', async (t) => {
  const late = at({ kind: 'delete', status: 412, expected: 1 }, 511, 512);
  const valid: [says: string, operations: Operation[]][] = [
    ['one after the other', [create, write, read(2, 'b')]],
    [
      'a read beside a write sees either',
      [create, wrote(2, 'b', undefined, 100, 110), read(1, 'a', 101, 102), read(2, 'b', 103, 120)],
    ],
    ['a refused write', [create, write, refused(2)]],
    ['not modified', [create, at({ status: 304, expected: 1, version: 1 })]],
    ['a delete, and nothing after', [create, removed(), absent(), removed()]],
    [
      'a read beside a delete',
      [create, removed(undefined, 200, 210), absent(201, 202), read(1, 'a', 201, 203)],
    ],
    [
      'a delete of the current version beside one without a condition',
      [create, removed(undefined, 500, 510), removed(1, 501, 509), late],
    ],
    ['a refusal that shows the record', [create, write, refused(2, { value: 'b' })]],
  ];
  for (const [says, operations] of valid) t.equal(faultOf(operations), undefined, says);
});

t.test('histories that no single copy could have produced', async (t) => {
  const beside = wrote(2, 'b', undefined, 400, 450);
  const bad: [says: string, fault: RegExp, ...operations: Operation[]][] = [
    ['a lost update', /twice/, create, write, wrote(2, 'c', 1)],
    ['a version left out', /never written/, create, wrote(3, 'c')],
    ['a stale read', /replaced|followed/, create, write, read(1, 'a')],
    ['a value never written', /not what was written/, create, read(1, 'z')],
    ['a version never written', /nobody wrote/, create, read(7, 'a')],
    ['a read from the future', /not yet/, create, read(2, 'b', 300, 301), wrote(2, 'b', undefined, 302, 303)],
    [
      'reads that go back',
      /followed by version 1/,
      create,
      beside,
      read(2, 'b', 401, 402),
      read(1, 'a', 403, 404),
    ],
    ['a write past its precondition', /not the one after/, create, write, wrote(3, 'c', 1)],
    ['a refusal without a reason', /demanded/, create, refused(1)],
    ['a success after a delete', /after a delete/, create, removed(), read(1, 'a')],
    [
      'absent, and there again, beside one delete',
      /after it was absent/,
      ...[create, removed(undefined, 600, 620), absent(601, 602), read(1, 'a', 603, 604)],
    ],
    ['one version deleted twice', /another had deleted/, create, removed(1, 700, 710), removed(1, 701, 711)],
    [
      'deleted and written over',
      /no longer current/,
      create,
      removed(1, 800, 810),
      wrote(2, 'b', 1, 801, 811),
    ],
    ['a version deleted after a delete', /after a delete/, create, removed(), removed(1)],
    ['a version deleted that nobody wrote', /nobody had written/, create, removed(9)],
    [
      'a response that shows what another wrote',
      /not what was written/,
      create,
      { ...wrote(2, 'a'), sent: 'b' },
    ],
    [
      'a refusal that shows what nobody wrote',
      /not what was written/,
      create,
      write,
      refused(2, { value: 'a' }),
    ],
    ['absent without a delete', /before any delete/, create, absent()],
    ['not modified, and it was', /it was/, create, write, at({ status: 304, expected: 1, version: 2 })],
    ['a delete past its precondition', /no longer current/, create, write, removed(1)],
    ['a fault', /status 500/, create, at({ status: 500 })],
  ];
  for (const [says, fault, ...operations] of bad) t.match(faultOf(operations) ?? 'accepted', fault, says);
});
