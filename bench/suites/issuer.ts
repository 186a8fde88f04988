import { fileURLToPath } from 'node:url';
import { connect } from '../../src/db/db.js';
import { createClient } from '../../src/features/issuer/clients.js';
import { claimPort } from '../../test/support/claimed-port.js';
import { type Contestant, startContestant } from '../harness/contestant.js';
import { loadByWrk } from '../harness/load-wrk.js';
import type { Request } from '../harness/request.js';
import { openStage } from '../harness/stage.js';
import { median } from '../harness/stats.js';

/**
 * POST /token with client credentials and POST /introspect, beside oidc-provider alone on Koa with the same storage:
 * `node dist/bench/suites/issuer.js`. Needs wrk.
 */
const ROUNDS = 5;
const SECONDS = 2;
const CONNECTIONS = 16;
const PEER = fileURLToPath(new URL('../peers/oidc-provider.js', import.meta.url));

const stage = await openStage((line) => process.stderr.write(`${line}\n`));
try {
  const databaseUrl = await stage.copy('plinth', { users: 1000, items: 1000 }, 'issuer');
  const settings = async () => {
    const port = String(await claimPort());
    return { AUTH: 'bearer', AUTH_SERVER: 'on', PORT: port, PUBLIC_URL: `http://127.0.0.1:${port}` };
  };
  const plinth = await startContestant('plinth', databaseUrl, await settings());
  const alone = await startContestant('bare', databaseUrl, await settings(), PEER);
  try {
    await measure(databaseUrl, plinth, alone);
  } finally {
    await plinth.stop();
    await alone.stop();
  }
} finally {
  await stage.close();
}

async function measure(databaseUrl: string, plinth: Contestant, alone: Contestant): Promise<void> {
  const db = connect(databaseUrl, {
    dbConnections: 1,
    dbSearches: 1,
    dbStreams: 1,
    queue: 10,
    dbTimeoutMs: 10_000,
    tombstones: false,
    events: false,
  });
  const headersOf = async (tokenFormat: 'jwt' | 'opaque') => {
    const { item: client, secret } = await createClient(db, {
      name: 'bench',
      type: 'confidential',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      post_logout_redirect_uris: [],
      id_token_signed_response_alg: 'ES256',
      scopes: ['items:read'],
      token_format: tokenFormat,
      first_party: false,
    });
    const credentials = Buffer.from(`${client.id}:${secret}`).toString('base64');
    return { authorization: `Basic ${credentials}`, 'content-type': 'application/x-www-form-urlencoded' };
  };
  const [jwt, opaque] = [await headersOf('jwt'), await headersOf('opaque')];
  await db.close();
  const body = 'grant_type=client_credentials&scope=items%3Aread';
  const token = async ({ url }: Contestant) => {
    const response = await fetch(`${url}/token`, { method: 'POST', headers: opaque, body });
    return ((await response.json()) as { access_token: string }).access_token;
  };
  const introspection = async (server: Contestant): Promise<Request> => ({
    method: 'POST',
    path: '/introspect',
    headers: opaque,
    body: `token=${await token(server)}`,
  });
  await compare('POST /token, JWT', plinth, alone, async () => ({
    method: 'POST',
    path: '/token',
    headers: jwt,
    body,
  }));
  await compare('POST /introspect, opaque', plinth, alone, introspection);
}

async function compare(
  name: string,
  plinth: Contestant,
  alone: Contestant,
  requestTo: (server: Contestant) => Promise<Request>,
): Promise<void> {
  const rates = new Map<Contestant, number[]>([
    [plinth, []],
    [alone, []],
  ]);
  for (let round = 0; round <= ROUNDS; round++)
    for (const server of round % 2 === 0 ? [plinth, alone] : [alone, plinth]) {
      const request = await requestTo(server);
      const load = {
        url: server.url,
        connections: CONNECTIONS,
        seconds: SECONDS,
        request,
        status: 200,
        idsFile: '',
      };
      const { rate, wrong } = await loadByWrk(load);
      if (wrong > 0) throw new Error(`${name}: ${wrong} requests failed`);
      if (round > 0) rates.get(server)!.push(rate);
    }
  const [own, other] = [median(rates.get(plinth)!), median(rates.get(alone)!)];
  const ratio = (own / other).toFixed(2);
  process.stdout.write(
    `${name.padEnd(26)}${own.toFixed(0)}/s, ${ratio} x oidc-provider alone (${other.toFixed(0)}/s)\n`,
  );
}
