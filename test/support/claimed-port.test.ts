import { once } from 'node:events';
import net from 'node:net';
import { claimPort } from './claimed-port.js';
import t from './test.js';

t.test('claimed ports differ, are below those of the system, and can be listened on', async (t) => {
  const ports = await Promise.all(Array.from({ length: 100 }, () => claimPort(t)));
  t.equal(new Set(ports).size, ports.length);
  t.ok(ports.every((port) => port >= 20_000 && port < 26_000));
  const server = net.createServer().listen(ports[0], '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
});

t.test('a port is not claimed again by the next test', async (t) => {
  const claimed: number[] = [];
  for (const name of ['a test', 'the next one'])
    await t.test(name, async (t) => {
      for (let at = 0; at < 400; at++) claimed.push(await claimPort(t));
    });
  t.equal(new Set(claimed).size, claimed.length);
});
