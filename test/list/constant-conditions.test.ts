import { CITUS, POSTGRESQL } from '../../src/database-url/engine.js';
import { parametersIn } from '../../src/list/comparison-sql.js';
import { type Access, type Condition, EVERYTHING, type Selection } from '../../src/list/condition.js';
import { recordsSql } from '../../src/list/condition-sql.js';
import { posts, users } from '../support/collections.js';
import t from '../support/test.js';

const ENGINES = [POSTGRESQL, CITUS];
const NEVER: Condition = { kind: 'or', conditions: [] };
const ALWAYS: Condition = { kind: 'and', conditions: [] };
const NOBODY: Access = { grants: [], alternatives: [], isSelective: false, values: [], shape: '' };

/** The access of a caller with one grant, which shows one field. */
const limited = (...conditions: readonly Condition[]): Access => ({
  grants: [{ conditions, fields: ['userId'] }],
  alternatives: [conditions],
  isSelective: false,
  values: [],
  shape: '',
});

const author = (conditions: readonly Condition[], access?: Access): Condition => ({
  kind: 'relation',
  relation: 'user',
  quantifier: 'one',
  other: users,
  own: posts.columns.get('userId'),
  referring: [],
  conditions,
  access,
});

const ROWS: readonly (readonly [string, Partial<Selection>])[] = [
  ['a caller without a grant', { access: NOBODY }],
  ['a grant that never holds', { access: limited(NEVER) }],
  ['a field that no grant shows', { access: limited(author([])) }],
  ['a condition that never holds', { conditions: [NEVER] }],
  ['the negation of one that always holds', { conditions: [{ kind: 'not', conditions: [ALWAYS] }] }],
  ['related records that a caller cannot read', { conditions: [author([], NOBODY)] }],
  ['related records for which nothing holds', { conditions: [author([NEVER])] }],
  ['each of no conditions', { conditions: [{ ...author([]), quantifier: 'every' } as Condition] }],
];

t.test('a condition that never holds is no constant on Citus', (t) => {
  for (const [says, part] of ROWS) {
    const texts = ENGINES.map((engine) => {
      const selection = { ...EVERYTHING, ...part };
      return recordsSql(posts, selection, parametersIn([]), engine);
    });
    t.same(
      texts.map((text) => /\bfalse\b/.test(text)),
      ENGINES.map((engine) => engine === POSTGRESQL),
      `${says}: ${texts.join('\n')}`,
    );
  }
  t.end();
});
