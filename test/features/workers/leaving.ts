import cluster from 'node:cluster';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Channel } from '../../../src/features/workers/channel.js';

/**
 * Two workers on one port. The first does nothing until a file exists, whose name is the first argument; then it listens no more,
 * leaves and exits, all before it reads what the primary has sent it meanwhile. The second argument is how long it waits for the
 * primary, in milliseconds; if it is there, the primary does not respond. SIGTERM ends the primary.
 */
const [, , file, primaryMs] = process.argv;
/** No primary takes as long on any machine. */
const PRIMARY_MS = 600_000;

async function listen(): Promise<void> {
  const { id } = cluster.worker!;
  const primary = new Channel(cluster.worker!, {
    maintenance: async () => {
      process.send!('waits');
      while (!existsSync(file!));
      server.close();
      await primary.ask('leave', Number(primaryMs ?? PRIMARY_MS));
      process.exit(0);
    },
  });
  const server = createServer((_request, response) => response.end(String(id)));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  primary.send('ready', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

function run(): void {
  const first = cluster.fork();
  first.on('exit', (code) => process.stdout.write(`the first worker exits with ${code}\n`));
  first.on('message', (message) => {
    if (message === 'waits') process.stdout.write('the first worker waits\n');
  });
  const channel = new Channel(first, {
    leave: () => (primaryMs === undefined ? true : new Promise(() => undefined)),
    ready: (url: string) => {
      process.stdout.write(`${url}\n`);
      cluster.fork().on('message', () => channel.send('maintenance', true));
    },
  });
}

if (cluster.isPrimary) run();
else await listen();
