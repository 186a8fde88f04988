import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Each server that takes part, and where its program is; `guarded` is Plinth that takes the tokens of an issuer. */
const PROGRAMS = {
  plinth: '../../src/main.js',
  scoped: '../../src/main.js',
  handwritten: '../peers/handwritten.js',
  bare: '../peers/bare.js',
  fastify: '../peers/fastify.js',
  express: '../peers/express.js',
};

export type Name = keyof typeof PROGRAMS;

/** A server that runs, in a process of its own. */
export interface Contestant {
  readonly name: Name;
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts a server on a free port and a database; resolves when it responds. `settings` are variables besides, `program` another build. */
export async function startContestant(
  name: Name,
  databaseUrl: string,
  settings: Readonly<Record<string, string>> = {},
  program = fileURLToPath(new URL(PROGRAMS[name], import.meta.url)),
): Promise<Contestant> {
  const child = spawn(process.execPath, [program], {
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      DATABASE_URL: databaseUrl,
      PORT: '0',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  const exited = once(child, 'exit').then(() => process.off('exit', end));
  const line = await Promise.race([once(child.stdout, 'data').then(([data]) => String(data)), exited]);
  const url = typeof line === 'string' ? /http:\S+/.exec(line)?.[0] : undefined;
  if (url === undefined) throw new Error(`${name} did not start`);
  return {
    name,
    url,
    pid: child.pid!,
    stop: async () => {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
