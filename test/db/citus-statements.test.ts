import { EXAMINED, HEADINGS, NOT_EXAMINED } from '../features/citus/statements.js';
import t from '../support/test.js';

t.test(
  'the shards of every statement of collections are examined on a cluster, or a reason says why not',
  (t) => {
    const names = [...EXAMINED, ...Object.values(NOT_EXAMINED).flat()];
    t.same(names.toSorted(), [...HEADINGS.keys()].toSorted());
    t.end();
  },
);
