import { type History, isStale, type Mark } from '../../src/transport/stale-connections.js';
import t from '../support/test.js';

const OPTIONS = { streamStallMs: 30_000, keepAliveMs: 65_000 };

const noHistory = (): History => ({ mark: undefined, since: 0 });

/** Checks a connection every five seconds. Returns the second at which it is closed; undefined: not by then. */
function check(from: number, to: number, mark: Mark, history = noHistory(), options = OPTIONS) {
  for (let at = from; at <= to; at += 5) if (isStale(mark, history, at * 1000, options)) return at;
  return undefined;
}

t.test('a connection is idle from the first check after its response, and has a second more', async (t) => {
  const history = noHistory();
  t.equal(check(0, 500, undefined, history), undefined, 'within a request');
  t.equal(check(505, 900, 100, history), 505 + 70);
});

t.test('a request between two checks restarts the time', async (t) => {
  const history = noHistory();
  t.equal(check(0, 60, 100, history), undefined);
  t.equal(check(65, 900, 200, history), 65 + 70);
});

t.test('a connection without a response is not idle', async (t) => {
  t.equal(check(0, 1000, undefined), undefined);
});

t.test('0: a connection may be idle without limit', async (t) => {
  t.equal(check(0, 10_000, 1, noHistory(), { ...OPTIONS, keepAliveMs: 0 }), undefined);
});

t.test('a client that reads nothing for too long is disconnected', async (t) => {
  const history = noHistory();
  for (let at = 0; at < 100; at += 5) t.equal(check(at, at, at - 1500, history), undefined);
  t.equal(check(100, 900, -1400, history), 100 + 30);
});
