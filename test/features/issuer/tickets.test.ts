import { setUserScopes } from '../../../src/auth/user-scopes.js';
import { OwnTokens } from '../../../src/features/issuer/own-tokens.js';
import { follow } from '../../events/follow.js';
import { byToken } from '../../support/credentials.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import { authorizationServer, signIn } from './authorization-server.js';

t.jobs = 3;

// Once for all tests of this file, which run at the same time: the end of one must not undo what another has replaced.
const verifications = t.capture(OwnTokens.prototype, 'verify', OwnTokens.prototype.verify).calls;

const SCOPES = ['events:read', 'items:read'];
const END_GRANT = "delete from issuer_records where model = 'Grant' and user_id = $1";

for (const tokenFormat of ['jwt', 'opaque'] as const)
  t.test(
    `a token that was checked for a stream makes tickets, which do not outlive it: ${tokenFormat}`,
    async (t) => {
      const server = await authorizationServer(t);
      const { service } = server;
      await setUserScopes(service.db, server.user.id, SCOPES);
      const { config } = await server.register({ scopes: SCOPES, token_format: tokenFormat });
      const { access_token: token } = await signIn(server, config, { scope: `openid ${SCOPES.join(' ')}` });
      const headers = byToken(token);
      const stream = await follow(t, `${service.url}/events?after=now`, headers);
      t.equal(stream.status, 200);
      const verified = () =>
        verifications
          .filter(({ args: [text] }) => text === token)
          .map((call) => 'returned' in call && call.returned);
      const before = verified().length;
      // The check of the stream is the only one that verifies: no request is sent meanwhile.
      await service.db.run("select pg_notify('plinth_issuer', 'revoked')", []);
      await until('the stream is checked', async () => {
        t.notOk(stream.isOver());
        return verified()[before];
      });

      const make = async (): Promise<string> =>
        (await service.send('POST', '/events/tickets', { headers })).json._links.events.href;
      const [used, late] = [await make(), await make()];
      const stored = await service.db.run('select principal from event_tickets', []);
      for (const { principal } of stored) t.notOk(String(principal).includes(token.slice(-20)));
      const byTicket = await follow(t, `${service.url}${used}&after=now`);
      const second = await follow(t, `${service.url}/events?after=now`, headers);
      t.same([byTicket.status, second.status], [200, 200]);
      await service.db.run(END_GRANT, [server.user.id]);
      await until('all streams end', () => [stream, byTicket, second].every(({ isOver }) => isOver()));
      const accept = { accept: 'text/event-stream' };
      t.equal((await service.send('GET', late, { headers: accept })).status, 403, 'an unused ticket');
    },
  );
