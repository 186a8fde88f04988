import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { setImmediate as tick } from 'node:timers/promises';
import { acceptBeforeReading } from '../../src/transport/connections.js';
import t from '../support/test.js';

/** A listener whose connections and requests come when the test says so, and the requests that were begun. */
function fake(now = () => 0) {
  const server = new EventEmitter();
  const begun: number[] = [];
  const begin = acceptBeforeReading(server, (...[request]: readonly [number]) => begun.push(request), now);
  return { begun, begin, connect: () => server.emit('connection') };
}

t.test('a request begins at once when no connection comes', async (t) => {
  const { begun, begin } = fake();
  begin(1);
  t.same(begun, [1]);
});

t.test('few requests wait for the tick of a connection, and for no other', async (t) => {
  const { begun, begin, connect } = fake();
  connect();
  for (const request of [1, 2, 3]) begin(request);
  t.same(begun, []);
  await tick();
  t.same(begun, [1, 2, 3]);
  begin(4);
  t.same(begun, [1, 2, 3, 4]);
});

t.test('many wait until no further connection came, and begin in their order', async (t) => {
  const { begun, begin, connect } = fake();
  for (let request = 0; request < 40; request += 10) {
    connect();
    for (let more = 0; more < 10; more++) begin(request + more);
    await tick();
    t.same(begun, []);
  }
  await tick();
  t.same(begun, [...Array(40).keys()]);
});

t.test('none waits for longer than 5 ms, however long a tick takes', async (t) => {
  let time = 0;
  const { begun, begin, connect } = fake(() => time);
  connect();
  for (let request = 0; request < 40; request++) begin(request);
  time = 4;
  await tick();
  t.same(begun, []);
  connect();
  time = 5;
  await tick();
  t.equal(begun.length, 40);
});

t.test('clients that connect to a busy service are soon heard', async (t) => {
  let connections = 0;
  let responses = 0;
  const server = createServer({ keepAliveTimeout: 60_000 });
  const respond = (_req: IncomingMessage, res: ServerResponse) => {
    responses++;
    res.end();
  };
  server.on('connection', () => connections++);
  // Without the limit of time, which a slow machine reaches.
  server.on(
    'request',
    acceptBeforeReading(server, respond, () => 0),
  );
  server.listen(0, '127.0.0.1', 4096);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const open = () => {
    const socket = net.connect(port, '127.0.0.1');
    const ask = () => socket.write('GET / HTTP/1.1\r\nHost: plinth.test\r\n\r\n');
    socket.on('error', () => undefined).on('data', ask);
    t.teardown(() => socket.destroy());
    ask();
  };
  t.teardown(() => server.close());
  for (let busy = 0; busy < 200; busy++) open();
  while (connections < 200) await tick();
  const before = responses;
  for (let late = 0; late < 200; late++) open();
  let idleTicks = 0;
  while (connections < 400) {
    const seen = connections;
    await tick();
    if (connections === seen) idleTicks++;
  }
  // If all others got a response in the tick of each new connection, it would be 20,000 and more. In a tick without a new
  // connection all may get one: a slow machine has such ticks.
  const max = 5000 + idleTicks * 400;
  t.ok(responses - before < max, `${responses - before} responses before the last was accepted, of ${max}`);
});
