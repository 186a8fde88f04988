import { automatonOf } from '../../src/validation/automaton.js';
import t from '../support/test.js';
import { words } from '../support/words.js';

/** Texts with the characters in which regular expressions of programs differ. */
const TEXTS = [
  ...[
    ...words('😀 a😀b _ 1 a1 - / .'),
    '',
    ...words(`
      a b A ab ba aab aaa é É
    `),
    'e\u0301',
  ],
  ...[
    ' ',
    '\t',
    '\n',
    '\v',
    '\f',
    '\r',
    '\u0085',
    '\u00a0',
    '\u180e',
    '\u2028',
    '\u2029',
    '\u202f',
    '\u3000',
  ],
  ...[
    '\ufeff',
    '\u0000',
    '\u0001',
    '\b',
    '\u001f',
    '\u007f',
    'a\nb',
    'a\rb',
    'a\u2028b',
    'a b',
    'a-b',
    'a\n',
    '\na',
  ],
  ...[
    ...words('α Ω ſ k Ⅷ ٣ 中'),
    '\u212a',
    '\u{10ffff}',
    ...words(`
      { } ( ) [ ] ^ $ | \\
    `),
  ],
  ...[
    ...words(`
      && a&&b ~ # a{1} [a] (?i)a foo@bar.org foo barfoo ａ
    `),
    '\u0130',
    'ı',
    ',',
  ],
];

/** The syntax of ECMA-262 with the flag `u`. */
const PATTERNS = [
  ...words(`
    a . ^.$ ^.*$ a.b ^a b$ ^a$ ^$ $ ^ a$|^b (?:^a|b$)b? ^(?:)$ () | a|
  `),
  ...words(`
    \\d \\D \\w \\W \\s \\S ^\\s$ ^\\S+$ ^\\w+$ ^\\W$ ^\\d$ \\b \\Bb \\ba\\b
  `),
  ...['a\\B', '\\bfoo', 'o\\b', '^\\b', '\\B$', '(?:a|\\b)+b', '(?:\\b)*a'],
  ...words(`
    \\t \\n \\v \\f \\r \\0 \\cJ \\cj \\x41 \\xe9 \\u0041 \\u00e9 \\u{e9}
  `),
  ...words(`
    \\u{1f600} \\ud83d\\ude00 \\uD83D\\uDE00 😀 ^.😀.$ \\u2028 \\ufeff \\u{10ffff} \\u{0000041}
  `),
  ...words(`
    \\. \\/ \\\\ \\^ \\$ \\| \\? \\* \\+ \\( \\) \\[ \\] \\{ \\}
  `),
  ...words(`
    [a] [^a] [] [^] ^[^]$ a[] []|b [a-c] [^a-c] [-a] [a-] [--a] [+--] [\\-a]
  `),
  ...words(`
    [\\]] [[] [[a] [^[] [{}] [()|.*+?$^] [^^] [\\^] [\\\\] [\\b] [\\0-\\x1f] [\\cA-\\cZ]
  `),
  ...words(`
    [\\d] [^\\d] [\\D] [^\\D] [\\s] [^\\s] [\\S\\n] [^\\S\\n] [\\w-] [^\\W_] [\\s\\S] [^\\s\\S]
  `),
  ...words(`
    [\\u00e9] [\\u{1f600}] [\\ud83d\\ude00] [😀-😂] [a-\\u{10ffff}] ^[^a-\\u{10ffff}]$ [&&] [a&&b] [~#]
  `),
  ...words(`
    \\p{L} ^\\p{Letter}$ \\P{L} ^\\P{Lu}$ \\p{Lu} \\p{Script=Greek} \\p{sc=Grek} \\p{scx=Han} \\p{Nd}
  `),
  ...words(`
    \\p{ASCII} \\p{Any} ^\\P{Any}$ \\p{White_Space} \\p{Emoji_Presentation} \\p{gc=Sc} [\\p{L}\\d]
    [^\\p{L}]
  `),
  ...words(`
    a? a* a+ ^a??b ^a*?b ^a+?b a{2} ^a{2}$ a{2,} ^a{0,1}$ ^a{02}b$ ^a{0}$ ^a{1,2}?b$
  `),
  ...words(`
    ^a{1000}$ ^(?:a{100}){10}$ (?:a|b)* ^(?:a|b)*$ ^(a|ab)(b|)$ ^(?<name>a)b$ ^(?<$_\\u0061>a)$ (?<a>x)|y|a
  `),
  ...[
    ...words('foo|bar (?:)*a (?:a?){3} # - ,'),
    '^(a+)+$',
    '^(a|a)*$',
    '^(a*)*b$',
    '^\\S+@\\S+\\.\\S+$',
    '^(?:foo|bar){1,3}$',
    ' ',
  ],
];

t.test('a pattern matches the texts that V8 matches', (t) => {
  for (const pattern of PATTERNS) {
    const [expected, automaton] = [new RegExp(pattern, 'u'), automatonOf(pattern)];
    const differing = TEXTS.filter((text) => automaton.test(text) !== expected.test(text));
    t.same(differing, [], pattern);
  }
  t.end();
});

t.test('each code point has the sets that V8 gives it', (t) => {
  for (const set of words(`
    \\s \\S \\w \\W \\d \\D . [^a] \\p{L} \\P{Ll} \\p{Script=Cyrillic}
  `)) {
    const [expected, automaton] = [new RegExp(`^${set}$`, 'u'), automatonOf(`^${set}$`)];
    const differing: number[] = [];
    for (let code = 0; code <= 0x1ffff; code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const text = String.fromCodePoint(code);
      if (automaton.test(text) !== expected.test(text)) differing.push(code);
    }
    t.same(differing, [], set);
  }
  t.end();
});

t.test('what no automaton can match is refused by name, with what to write instead', (t) => {
  const rows: readonly (readonly [pattern: string, reason: RegExp])[] = [
    ['(?=a)b', /^has a look-ahead: write "allOf"/],
    ['^(?=.*[A-Z])(?=.*\\d).{8,}$', /^has a look-ahead: write "allOf"/],
    ['(?!a)b', /^has a negative look-ahead: write "not"/],
    ['(?<=a)b', /^has a look-behind: write "allOf"/],
    ['(?<!a)b', /^has a negative look-behind: write "not"/],
    ['(a)\\1', /^refers back to a group: write "enum"/],
    ['(?<x>a)\\k<x>', /^refers back to a group/],
    ['(?:a|b){1001}', /^needs too many states .* "maxLength"/],
    ['(?:a|b){1,2000}', /^needs too many states/],
    ['(?:(?:a|b){100}){100}', /^needs too many states/],
    ['^[ab]*a[ab]{900}$', /^needs too many states/],
    ['^[ab]*a[ab]{20}$', /^needs too many states/],
    ['(\\ud83d|a)', /^has half of a surrogate pair/],
    ['(\ude00|a)', /^has half of a surrogate pair/],
    ['[\\u{d800}-\\u{dfff}a]', /^has half of a surrogate pair/],
    // V8 knows these from Node 24 on.
    ['(?i:a)', /^has flags, "\?i:": write both cases/],
    ['(?s-i:a)', /^has flags, "\?s-i:"/],
  ];
  for (const [pattern, reason] of rows) t.throws(() => automatonOf(pattern), { message: reason }, pattern);
  t.end();
});
