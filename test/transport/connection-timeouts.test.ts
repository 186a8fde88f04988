import t from 'tap';
import { isOver, type Looked, unseen } from '../../src/transport/connection-timeouts.js';

const OPTIONS = { streamStallMs: 30_000, keepAliveMs: 65_000 };

/** A connection that is looked at every five seconds. Tells when it is ended, in seconds; undefined: not by then. */
function lookAt(from: number, to: number, socket: Partial<Looked>, seen = unseen(), options = OPTIONS) {
  const looked = { writableLength: 0, bytesRead: 0, ...socket } as Looked;
  for (let at = from; at <= to; at += 5) if (isOver(looked, seen, at * 1000, options)) return at;
  return undefined;
}

const ANSWER = {} as NonNullable<Looked['_httpMessage']>;

t.test('a connection is idle from the look after its answer on, and has a second more', async (t) => {
  const seen = unseen();
  t.equal(lookAt(0, 500, { _httpMessage: ANSWER, bytesRead: 100 }, seen), undefined, 'within a request');
  t.equal(lookAt(505, 900, { _httpMessage: null, bytesRead: 100 }, seen), 505 + 70);
});

t.test('what came and was answered between two looks begins it anew', async (t) => {
  const seen = unseen();
  t.equal(lookAt(0, 60, { _httpMessage: null, bytesRead: 100 }, seen), undefined);
  t.equal(lookAt(65, 900, { _httpMessage: null, bytesRead: 200 }, seen), 65 + 70);
});

t.test('before the first answer a connection is not idle, whatever came', async (t) => {
  t.equal(lookAt(0, 1000, { bytesRead: 0 }), undefined);
  t.equal(lookAt(0, 1000, { bytesRead: 10 }), undefined);
});

t.test('0: a connection may be idle for ever', async (t) => {
  const options = { ...OPTIONS, keepAliveMs: 0 };
  t.equal(lookAt(0, 10_000, { _httpMessage: null, bytesRead: 1 }, unseen(), options), undefined);
});

t.test('a reader that takes nothing for too long is ended, one that takes little is not', async (t) => {
  const seen = unseen();
  const reader = (writableLength: number, writeQueueSize: number) => ({
    _httpMessage: ANSWER,
    writableLength,
    _handle: { writeQueueSize },
  });
  for (let at = 0; at < 100; at += 5) t.equal(lookAt(at, at, reader(1000, 500 - at), seen), undefined);
  t.equal(lookAt(100, 900, reader(1000, 400), seen), 100 + 30);
});
