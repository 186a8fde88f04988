import cluster from 'node:cluster';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WorkerReport } from '../../../src/features/workers/messages.js';
import { joinPrimary } from '../../../src/features/workers/primary-client.js';
import { sendTo } from '../../../src/features/workers/supervisor.js';

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
  const primary = joinPrimary(
    {
      stop: () => undefined,
      reload: () => undefined,
      setMaintenance: async () => {
        process.send!('waits');
        while (!existsSync(file!));
        server.close();
        await primary.leave();
        process.exit(0);
      },
      metrics: async () => undefined,
    },
    Number(primaryMs ?? PRIMARY_MS),
  );
  const server = createServer((_request, response) => response.end(String(id)));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  primary.ready(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

function run(): void {
  const first = cluster.fork();
  first.on('exit', (code) => process.stdout.write(`the first worker exits with ${code}\n`));
  first.on('message', (message: WorkerReport | 'waits') => {
    if (message === 'waits') process.stdout.write('the first worker waits\n');
    else if (message.report === 'leaves' && primaryMs === undefined) sendTo(first, { order: 'leave' });
    else if (message.report === 'ready') {
      process.stdout.write(`${message.url}\n`);
      cluster.fork().on('message', () => sendTo(first, { order: 'maintenance', on: true }));
    }
  });
}

if (cluster.isPrimary) run();
else await listen();
