import { createLog, readableLines } from '../../src/telemetry/log.js';
import t from '../support/test.js';

t.test('lines for people have the time, the level, the message and its details', async (t) => {
  let out = '';
  const lines = readableLines({
    write: (line) => {
      out += line;
    },
  });
  const log = createLog('info', lines);
  log.warn({ webhook: 'a-1', tries: 3, text: 'two words' }, 'a delivery failed');
  t.match(out, /^\d\d:\d\d:\d\d WARN a delivery failed webhook=a-1 tries=3 text="two words"\n$/);
  out = '';
  log.error({ err: new Error('broken') }, 'request failed');
  t.match(out, /^\d\d:\d\d:\d\d ERROR request failed\n {2}Error: broken\n {4,}at /);
  t.match(out, /\n$/);
});
