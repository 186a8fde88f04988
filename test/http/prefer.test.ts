import { preferredWait, prefersMinimal } from '../../src/http/request.js';
import t from '../support/test.js';
import { words } from '../support/words.js';

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
    'note="a, b", return=minimal',
    'note="a \\", b", return=minimal',
  ];
  for (const prefer of minimal) t.ok(prefersMinimal(prefer), String(prefer));
});

t.test('RFC 7240 section 2: the first preference counts, an unknown one is ignored', async (t) => {
  const other: (string | string[] | undefined)[] = [
    ...words(`
    return return= return="" return=representation return=unknown return=minimally xreturn=minimal
    x;return=minimal minimal handling=lenient
  `),
    undefined,
    '',
    'return=representation, return=minimal',
    ['return=representation', 'return=minimal'],
    'return=minimal x',
    'note="a, return=minimal"',
    'note="a \\", return=minimal',
  ];
  for (const prefer of other) t.notOk(prefersMinimal(prefer), String(prefer));
});

t.test('wait: seconds that a client would wait for its response', async (t) => {
  const cases: [prefer: string | string[] | undefined, seconds: number][] = [
    ['wait=20', 20],
    ['return=minimal, wait="5"', 5],
    [['Wait = 7; x=y', 'wait=9'], 7],
    ['wait', 0],
    ['wait=-1', 0],
    ['wait=1.5', 0],
    ['await=3', 0],
    [undefined, 0],
  ];
  for (const [prefer, seconds] of cases) t.equal(preferredWait(prefer), seconds, String(prefer));
});
