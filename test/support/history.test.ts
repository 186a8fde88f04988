import { faultOf, type Operation } from './history.js';
import t from './test.js';

let clock = 0;
const at = (fields: Partial<Operation>, began = ++clock, ended = ++clock): Operation => ({
  id: 'a',
  kind: 'read',
  status: 200,
  began,
  ended,
  ...fields,
});
const create = at({ kind: 'create', status: 201, version: 1, value: 'a' });
const write = at({ kind: 'write', version: 2, value: 'b', expected: 1 });

t.test('histories that one copy could have produced', async (t) => {
  const valid: [says: string, operations: Operation[]][] = [
    ['one after the other', [create, write, at({ version: 2, value: 'b' })]],
    [
      'a read beside a write sees either',
      [
        create,
        at({ kind: 'write', version: 2, value: 'b' }, 100, 110),
        at({ version: 1, value: 'a' }, 101, 102),
        at({ version: 2, value: 'b' }, 103, 120),
      ],
    ],
    ['a refused write', [create, write, at({ kind: 'write', status: 412, expected: 1, version: 2 })]],
    ['not modified', [create, at({ status: 304, expected: 1, version: 1 })]],
    [
      'a delete, and nothing after',
      [create, at({ kind: 'delete', status: 204 }), at({ status: 404 }), at({ kind: 'delete', status: 204 })],
    ],
    [
      'a read beside a delete',
      [
        create,
        at({ kind: 'delete', status: 204 }, 200, 210),
        at({ status: 404 }, 201, 202),
        at({ version: 1, value: 'a' }, 201, 203),
      ],
    ],
    [
      'a delete of the current version beside one without a condition',
      [
        create,
        at({ kind: 'delete', status: 204 }, 500, 510),
        at({ kind: 'delete', status: 204, expected: 1 }, 501, 509),
        at({ kind: 'delete', status: 412, expected: 1 }, 511, 512),
      ],
    ],
    [
      'a refusal that shows the record',
      [create, write, at({ kind: 'write', status: 412, expected: 1, version: 2, value: 'b' })],
    ],
  ];
  for (const [says, operations] of valid) t.equal(faultOf(operations), undefined, says);
});

t.test('histories that no single copy could have produced', async (t) => {
  const bad: [says: string, operations: Operation[], fault: RegExp][] = [
    ['a lost update', [create, write, at({ kind: 'write', version: 2, value: 'c', expected: 1 })], /twice/],
    ['a version left out', [create, at({ kind: 'write', version: 3, value: 'c' })], /never written/],
    ['a stale read', [create, write, at({ version: 1, value: 'a' })], /replaced|followed/],
    ['a value never written', [create, at({ version: 1, value: 'z' })], /not what was written/],
    ['a version never written', [create, at({ version: 7, value: 'a' })], /nobody wrote/],
    [
      'a read from the future',
      [
        create,
        at({ version: 2, value: 'b' }, 300, 301),
        at({ kind: 'write', version: 2, value: 'b' }, 302, 303),
      ],
      /not yet/,
    ],
    [
      'reads that go back',
      [
        create,
        at({ kind: 'write', version: 2, value: 'b' }, 400, 450),
        at({ version: 2, value: 'b' }, 401, 402),
        at({ version: 1, value: 'a' }, 403, 404),
      ],
      /followed by version 1/,
    ],
    [
      'a write past its precondition',
      [create, write, at({ kind: 'write', version: 3, value: 'c', expected: 1 })],
      /not the one after/,
    ],
    [
      'a refusal without a reason',
      [create, at({ kind: 'write', status: 412, expected: 1, version: 1 })],
      /demanded/,
    ],
    [
      'a success after a delete',
      [create, at({ kind: 'delete', status: 204 }), at({ version: 1, value: 'a' })],
      /after a delete/,
    ],
    [
      'absent, and there again, beside one delete',
      [
        create,
        at({ kind: 'delete', status: 204 }, 600, 620),
        at({ status: 404 }, 601, 602),
        at({ version: 1, value: 'a' }, 603, 604),
      ],
      /after it was absent/,
    ],
    [
      'one version deleted twice',
      [
        create,
        at({ kind: 'delete', status: 204, expected: 1 }, 700, 710),
        at({ kind: 'delete', status: 204, expected: 1 }, 701, 711),
      ],
      /another had deleted/,
    ],
    [
      'one version deleted and written over',
      [
        create,
        at({ kind: 'delete', status: 204, expected: 1 }, 800, 810),
        at({ kind: 'write', version: 2, value: 'b', expected: 1 }, 801, 811),
      ],
      /no longer current/,
    ],
    [
      'a version deleted after a delete',
      [create, at({ kind: 'delete', status: 204 }), at({ kind: 'delete', status: 204, expected: 1 })],
      /after a delete/,
    ],
    [
      'a version deleted that nobody wrote',
      [create, at({ kind: 'delete', status: 204, expected: 9 })],
      /nobody had written/,
    ],
    [
      'a response that shows what another wrote',
      [create, at({ kind: 'write', version: 2, value: 'a', sent: 'b' })],
      /not what was written/,
    ],
    [
      'a refusal that shows what nobody wrote',
      [create, write, at({ kind: 'write', status: 412, expected: 1, version: 2, value: 'a' })],
      /not what was written/,
    ],
    ['absent without a delete', [create, at({ status: 404 })], /before any delete/],
    ['not modified, and it was', [create, write, at({ status: 304, expected: 1, version: 2 })], /it was/],
    [
      'a delete past its precondition',
      [create, write, at({ kind: 'delete', status: 204, expected: 1 })],
      /no longer current/,
    ],
    ['a fault', [create, at({ status: 500 })], /status 500/],
  ];
  for (const [says, operations, fault] of bad) t.match(faultOf(operations) ?? 'accepted', fault, says);
});
