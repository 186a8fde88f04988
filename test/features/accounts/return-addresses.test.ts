import { PASSWORD } from '../../support/credentials.js';
import { untilSent } from '../../support/mail-server.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';
import { words } from '../../support/words.js';
import {
  type AuthorizationServer,
  authorizationServer,
  begin,
  REDIRECT,
} from '../issuer/authorization-server.js';
import { loggedMessages, QUICK_MAIL } from './mailing.js';

t.jobs = 3;

const ADA = 'ada@example.org';

async function start(t: Test) {
  const server = await authorizationServer(t, { MAIL: 'log', SIGN_UP: 'open' }, QUICK_MAIL);
  t.teardown(() => untilSent(server.service));
  return server;
}

/** The path of the link in a message to an address. */
async function linkTo({ service, issuer }: AuthorizationServer, email: string): Promise<string> {
  const { text } = await until('the message is in the log', () =>
    loggedMessages(service).find(({ recipient }) => recipient === email),
  );
  return new RegExp(`${issuer}/\\S+code=\\S+`).exec(text)![0].slice(issuer.length);
}

const hrefOf = (text: string, label: string): string =>
  new RegExp(`<a href="([^"]*)">${label}</a>`).exec(text)![1]!.replaceAll('&#38;', '&');

t.test('the sign-in that leads to a sign-up continues after it, to the application', async (t) => {
  const server = await start(t);
  const { config } = await server.register();
  const { visitor, open } = await begin(server, config);
  const form = await visitor.open(hrefOf((await open()).text, 'Create an account'));
  t.match((await visitor.submit(form, { email: ADA })).text, /A message is on its way/);
  const link = await linkTo(server, ADA);
  const code = new URL(link, server.issuer).searchParams.get('code')!;
  const done = await visitor.submit(await visitor.open(link), { code, name: 'Ada', password: PASSWORD });
  t.equal(done.status, 200);
  const again = await visitor.open(hrefOf(done.text, 'Continue'));
  t.match(again.text, /to continue to <strong>Reader/);
  const question = await visitor.enter(again, { email: ADA });
  const back = await visitor.submit(question, { action: 'allow' });
  t.match(back.url, `${REDIRECT}?code=`);
});

/** Addresses that are refused as the way back. `:issuer` is the address of the service. */
const REFUSED = [
  ...words(`
    https://evil.example/ //evil.example/ /\\evil.example/ javascript:alert(1) data:text/html,x
    https://app.example.org.evil.example/ https://app.example.org@evil.example/ https://app.example.or
    http://app.example.org/ :issuer.evil.example/
  `),
  `/${'x'.repeat(2000)}`,
  '',
];
const ACCEPTED = words(
  '/orders?page=2 :issuer/orders https://app.example.org/ https://app.example.org/a?b=c',
);

t.test('pages return to this service and to its clients alone', async (t) => {
  const server = await start(t);
  const { issuer, service } = server;
  await server.register({ redirect_uris: ['https://app.example.org/callback'], type: 'public' });
  const pageFor = async (given: string) =>
    (await service.send('GET', `/forgotten-password?return=${encodeURIComponent(given)}`)).text;
  const ask = (given: string) =>
    service.send('POST', '/forgotten-password', { body: { email: ADA, return: given } });
  for (const each of REFUSED) {
    const given = each.replace(':issuer', issuer);
    t.notMatch(await pageFor(given), 'name="return"', given);
    t.match((await ask(given)).json, { error: { details: [{ path: '/return' }] } }, given);
  }
  for (const each of ACCEPTED) {
    const given = each.replace(':issuer', issuer);
    const { href } = new URL(given, issuer);
    t.match(await pageFor(given), `name="return" value="${href}"`);
  }
});

t.test('a reset leads back, and a link with another page does not', async (t) => {
  const server = await start(t);
  const { service, user } = server;
  const body = { email: user.email, return: '/orders' };
  t.equal((await service.send('POST', '/forgotten-password', { body })).status, 202);
  const link = await linkTo(server, user.email);
  t.match(link, `return=${encodeURIComponent(`${server.issuer}/orders`)}`);
  const { text } = await service.send('GET', link.replace(/return=.*/, 'return=https://evil.example/'));
  t.notMatch(text, /evil/);
  const form = new URLSearchParams(link.slice(link.indexOf('?') + 1));
  form.set('password', 'another long passphrase of mine');
  const done = await service.send('POST', '/reset-password', {
    ...{ body: form.toString(), type: 'application/x-www-form-urlencoded' },
  });
  t.equal(hrefOf(done.text, 'Continue'), `${server.issuer}/orders`);
});

t.test('a member of a request for a message that would be dropped is refused', async (t) => {
  const { service } = await start(t);
  for (const path of ['/sign-up', '/forgotten-password'])
    for (const more of [{ password: PASSWORD }, { name: 'Ada' }, { __proto__: null, constructor: 1 }]) {
      const response = await service.send('POST', path, { body: { email: ADA, ...more } });
      t.equal(response.status, 400);
      const fault = { path: `/${Object.keys(more)[0]}`, keyword: 'additionalProperties' };
      t.match(response.json.error.details[0], fault);
    }
  t.same(await service.db.run('select from plinth_mail', []), []);
});
