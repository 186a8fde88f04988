import { EventEmitter } from 'node:events';
import { Channel, type Handlers } from '../../../src/features/workers/channel.js';
import t from '../../support/test.js';

/** The ends of a connection that passes messages on in the next tick. */
function connected(handlers: Handlers) {
  let isConnected = true;
  const peers = [new EventEmitter(), new EventEmitter()];
  const end = (at: number) =>
    Object.assign(peers[at]!, {
      isConnected: () => isConnected,
      send: (message: object) => setImmediate(() => peers[1 - at]!.emit('message', message)),
    }) as unknown as Channel['peer'];
  const primary = new Channel(end(0), {});
  const worker = new Channel(end(1), handlers);
  const cut = () => {
    isConnected = false;
    for (const peer of peers) peer.emit('disconnect');
  };
  return { primary, worker, cut };
}

t.test('a question has the reply of its handler, whatever the order of the replies is', async (t) => {
  let respond: (value: string) => void = () => undefined;
  const slow = new Promise<string>((resolve) => {
    respond = resolve;
  });
  const { primary } = connected({ metrics: () => slow, collect: () => 'quick' });
  const first = primary.ask('metrics', 600_000);
  t.equal(await primary.ask('collect', 600_000), 'quick');
  respond('slow');
  t.equal(await first, 'slow');
});

t.test('no reply: in time, of a handler that fails, of no handler, of an end that is gone', async (t) => {
  const { primary, cut } = connected({
    metrics: () => new Promise(() => undefined),
    collect: () => Promise.reject(new Error('no')),
  });
  t.equal(await primary.ask('metrics', 5), undefined);
  t.equal(await primary.ask('collect', 600_000), undefined);
  t.equal(await primary.ask('reload', 600_000), undefined);
  const waiting = primary.ask('metrics', 600_000);
  cut();
  t.equal(await waiting, undefined);
  t.equal(await primary.ask('metrics', 600_000), undefined);
  primary.send('stop');
});
