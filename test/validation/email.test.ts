import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { isEmail } from '../../src/validation/times.js';
import t from '../support/test.js';
import { words } from '../support/words.js';

const ajv = new Ajv();
(formats as unknown as typeof formats.default)(ajv, { mode: 'full', formats: ['email'] });
const isFormat = ajv.compile({ type: 'string', format: 'email' });

t.test('is what the format `email` of ajv-formats is', async (t) => {
  const pieces = ['a', 'A1', '.', '@', '-', '_', 'é', ' ', '..', 'example.org', 'a-b', '+', "'", '\n', ''];
  let valid = 0;
  for (const first of pieces)
    for (const second of pieces)
      for (const third of pieces)
        for (const fourth of ['', ...pieces]) {
          const text = `${first}${second}@${third}.${fourth}`;
          valid += Number(isEmail(text));
          if (isEmail(text) !== isFormat(text)) t.fail(JSON.stringify(text));
        }
  t.ok(valid > 100);
  for (const text of [...words('a@b.c a@b @b.c a@ a a@b.c. a@-b.c a@b-.c a.b@c.d .a@b.c a@@b.c'), ''])
    t.equal(isEmail(text), isFormat(text), text);
});

t.test('a text of more than 320 characters is none', async (t) => {
  t.notOk(isEmail(`${'a'.repeat(400)}@example.org`));
  t.notOk(isEmail('a@'.repeat(1_000_000)));
});
