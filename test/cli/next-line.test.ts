import { createInterface } from 'node:readline/promises';
import { PassThrough } from 'node:stream';
import { nextLine } from '../../src/cli/io.js';
import t from '../support/test.js';

t.test('a prompt ends with a line, with the failure of its input, or with the end of it', async (t) => {
  const prompted = (act: (input: PassThrough) => unknown) => {
    const input = new PassThrough();
    const lines = createInterface({ input });
    t.teardown(() => lines.close());
    const line = nextLine(lines, '');
    act(input);
    return line;
  };
  t.equal(await prompted((input) => input.write('a b\n')), 'a b');
  await t.rejects(
    prompted((input) => input.destroy(new Error('EIO'))),
    { message: 'the input cannot be read: EIO', exitCode: 1 },
  );
  await t.rejects(
    prompted((input) => input.end()),
    { message: 'the input ended before a line', exitCode: 1 },
  );
});
