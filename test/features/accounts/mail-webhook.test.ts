import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { newSecret } from '../../../src/features/webhooks/sign.js';
import { verifyWebhook } from '../../../src/features/webhooks/verify.js';
import { claimPort } from '../../support/claimed-port.js';
import { makeUser } from '../../support/credentials.js';
import { doctor } from '../../support/doctor.js';
import { testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';
import { ANN, codeIn, QUICK_MAIL, rowsOf } from './mailing.js';

const SECRET = newSecret();

/** A program that sends messages: responds with the statuses in their order, and then with the last one. */
async function sender(t: Test, statuses: number[]) {
  const received: { headers: Record<string, string>; body: string; url: string }[] = [];
  const port = await claimPort(t);
  const server = createServer(async (req, res) => {
    received.push({ headers: req.headers as Record<string, string>, body: await text(req), url: req.url! });
    res.writeHead(statuses.length > 1 ? statuses.shift()! : statuses[0]!, { Location: '/elsewhere' }).end();
  });
  server.listen(port, '127.0.0.1');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { received, url: `http://127.0.0.1:${port}/send?from=plinth` };
}

const settingsFor = (url: string) => ({
  AUTH: 'basic',
  INSECURE: 'basic',
  MAIL_WEBHOOK: url,
  MAIL_WEBHOOK_SECRET: SECRET,
  PUBLIC_URL: 'https://api.example.org',
});

async function start(t: Test, statuses: number[]) {
  const { received, url } = await sender(t, statuses);
  const service = await testService(t, settingsFor(url), QUICK_MAIL);
  await makeUser(service, ANN);
  await service.send('POST', '/forgotten-password', { body: { email: ANN } });
  const waiting = () => rowsOf(service, 'plinth_mail');
  return { received, service, waiting };
}

t.test('a signed request has the message, and no other sends it', async (t) => {
  const { received, service, waiting } = await start(t, [200]);
  await until('the message is removed', waiting, 0);
  t.equal(received.length, 1);
  const [{ headers, body, url }] = received as [(typeof received)[0]];
  t.equal(url, '/send?from=plinth');
  t.equal(headers['content-type'], 'application/json');
  const message = JSON.parse(body);
  t.match(message, { to: ANN, subject: 'A new password for api.example.org', html: /<a href=/ });
  t.equal((await verifyWebhook(body, headers, SECRET)).id, message.id);
  t.throws(() => verifyWebhook(body.replace('ann', 'eve'), headers, SECRET));
  const code = codeIn(message.text);
  const body2 = { code, password: 'another long passphrase of mine' };
  t.equal((await service.send('POST', '/reset-password', { body: body2 })).status, 204);
});

t.test('a failure, or a redirect, is requested again with one id', async (t) => {
  const { received, waiting } = await start(t, [500, 302, 401, 204]);
  await until('the message is removed', waiting, 0);
  t.equal(received.length, 4);
  t.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 1);
});

t.test('422 ends a message', async (t) => {
  const { received, service, waiting } = await start(t, [422]);
  await until('the message is removed', waiting, 0);
  t.equal(received.length, 1);
  t.match(service.logged.join('\n'), 'a message is refused');
});

t.test('settings', async (t) => {
  const env = settingsFor('https://mail.example.org/send');
  for (const [more, fault] of [
    [{ MAIL_WEBHOOK_SECRET: 'short' }, /MAIL_WEBHOOK_SECRET must be `whsec_`/],
    [{ MAIL_WEBHOOK_SECRET: '' }, /MAIL_WEBHOOK and MAIL_WEBHOOK_SECRET need each other/],
    [{ MAIL: 'log' }, /SMTP_URL, MAIL_WEBHOOK and MAIL=log exclude each other/],
    [{ MAIL_WEBHOOK: 'http://mail.example.org' }, /MAIL_WEBHOOK must be an https URL/],
  ] as const)
    await t.rejects(testService(t, { ...env, ...more }), { message: fault });
});

t.test('plinth doctor says how messages are sent, and how many wait', async (t) => {
  const { databaseUrl: DATABASE_URL, db } = await testService(t);
  const env = { ...settingsFor('https://mail.example.org/send'), DATABASE_URL };
  const line = async (of: Record<string, string>) =>
    (await doctor(t, of)).checks.find(({ check }) => check === 'mail');
  t.equal(await line({ DATABASE_URL }), undefined);
  t.match(await line(env), { status: 'ok', message: 'messages are sent by MAIL_WEBHOOK; 0 wait' });
  const insert = `insert into plinth_mail (id, purpose, recipient, language, attempts, created_at)
    values (gen_random_uuid(), 'changed', 'a@example.org', 'en', $1, now() - interval '2 minutes')`;
  await db.run(insert, [0]);
  await db.run(insert, [3]);
  t.match(await line(env), {
    status: 'warning',
    message: '1 of 2 messages wait after an attempt that failed',
  });
});
