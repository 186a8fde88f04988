import t from 'tap';
import { prefersMinimal } from '../../src/http/prefer.js';

t.test('RFC 7240 section 4.2: return=minimal', async (t) => {
  const minimal: (string | string[])[] = [
    'return=minimal',
    'RETURN=Minimal',
    'Return = "minimal"',
    '  return=minimal  ',
    'respond-async, return=minimal; x=1',
    'wait=5,return=minimal,return=representation',
    ['respond-async', 'return=minimal'],
    ',,return=minimal',
  ];
  for (const prefer of minimal) t.ok(prefersMinimal(prefer), String(prefer));
});

t.test(
  'RFC 7240 section 2: the first of a repeated preference counts, and an unknown one is ignored',
  async (t) => {
    const other: (string | string[] | undefined)[] = [
      undefined,
      '',
      'return',
      'return=',
      'return=""',
      'return=representation',
      'return=representation, return=minimal',
      ['return=representation', 'return=minimal'],
      'return=unknown',
      'return=minimally',
      'return=minimal x',
      'xreturn=minimal',
      'x;return=minimal',
      'minimal',
      'handling=lenient',
    ];
    for (const prefer of other) t.notOk(prefersMinimal(prefer), String(prefer));
  },
);
