import { fileURLToPath } from 'node:url';
import { newSecret, signWebhook } from '../../../src/features/webhooks/sign.js';
import { plinth } from '../../support/command.js';
import { startNode } from '../../support/process.js';
import { send, testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';
import { deliveriesOf, LOOPBACK, makeWebhook, testTarget } from './target.js';

t.jobs = 3;

const RECEIVER = fileURLToPath(new URL('../../../../docs/clients/receive.mjs', import.meta.url));

t.test('the receiver of the documentation takes what is delivered, once, and nothing else', async (t) => {
  const service = await testService(t, LOOPBACK);
  const { id, secret } = await makeWebhook(service, 'http://127.0.0.1:9/', { enabled: false });
  const receiver = startNode(t, [RECEIVER], { PORT: '0', WEBHOOK_SECRET: `${newSecret()} ${secret}` });
  const url = await receiver.ready();
  await service.send('PATCH', `/webhooks/${id}`, { body: { url: `${url}/hook`, enabled: true } });
  await service.send('POST', `/webhooks/${id}/test`);
  const [delivery] = await deliveriesOf(service, id, 1);
  t.match(delivery, { status: 'delivered', last_answer: { status: 204 } });
  await service.send('POST', `/webhooks/${id}/deliveries/${delivery.id}/redeliver`);
  await deliveriesOf(service, id, 1);
  await until('it prints', () => receiver.stdout().includes('webhooks.test'));
  const message = { id: 'm', timestamp: Math.floor(Date.now() / 1000), target: '/hook', body: '{}' };
  const other = newSecret();
  const wrong = [
    {},
    signWebhook(message, [other]),
    signWebhook({ ...message, timestamp: message.timestamp - 400 }, [secret]),
    { ...signWebhook(message, [secret]), 'webhook-id': 'n' },
  ];
  for (const headers of wrong)
    t.equal((await send(url, 'POST', '/hook', { headers, body: '{}' })).status, 400);
  t.equal(receiver.stdout().match(/webhooks\.test/g)!.length, 1);
});

const verify = (t: Test, args: readonly string[], secret: string | undefined, input: string) =>
  plinth(t, ['verify-webhook', ...args], secret === undefined ? {} : { WEBHOOK_SECRET: secret }, { input });

t.test('plinth verify-webhook says whether a message is to be believed', async (t) => {
  const target = await testTarget(t);
  const service = await testService(t, LOOPBACK);
  const { id, secret } = await makeWebhook(service, `${target.url}/hook`);
  await service.send('POST', `/webhooks/${id}/test`);
  await deliveriesOf(service, id, 1);
  const { body, headers, id: messageId } = target.received[0]!;
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const folder = t.testdir({
    head: `POST /hook HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`,
    secrets: `${newSecret()}\n${secret}\n`,
  });
  const file = ['--headers', `${folder}/head`];
  const valid = await verify(t, file, secret, body);
  t.match(valid, { code: 0, err: '' });
  t.match(JSON.parse(valid.out), { id: messageId, timestamp: Number });
  t.match(await verify(t, [...file, '--secret-file', `${folder}/secrets`], undefined, body), { code: 0 });
  const names = ['x-timestamp', 'x-signature'];
  const signature = names.flatMap((name) => ['--header', `${name}: ${headers[name]}`]);
  const scheme = ['--scheme', 'x-signature'];
  const form = [...signature, ...scheme];
  t.match(await verify(t, [...form, '--path', '/hook'], secret, body), { code: 0, out: /^\{"id":null,/ });
  t.match(await verify(t, form, secret, body), { code: 1, err: /^plinth: MISSING_PATH: / });
  // Without webhook-* fields, X-Signature applies only if the command says so.
  const unnamed = await verify(t, [...signature, '--path', '/hook'], secret, body);
  t.match(unnamed, { code: 1, out: '', err: /^plinth: MISSING_HEADERS: / });
  const bad = await verify(t, file, newSecret(), body);
  t.match(bad, { code: 1, out: '', err: /^plinth: BAD_SIGNATURE: / });
  t.notMatch(bad.err, /whsec_/);
  t.match(await verify(t, file, secret, `${body} `), { code: 1 });
  for (const args of [
    [],
    [...file, '--tolerance', 'x'],
    [...file, '--tolerance', 'NaN'],
    [...file, '--scheme', 'none'],
    [...file, '--secret', secret],
  ])
    t.match(await verify(t, args, secret, body), { code: 64, out: '', err: /usage: plinth/ }, args.join(' '));
  const missing = await verify(t, ['--headers', `${folder}/none`], secret, body);
  t.match(missing, { code: 64, out: '', err: /none cannot be read: ENOENT/ });
  t.match(await verify(t, file, undefined, body), { code: 64, err: /needs WEBHOOK_SECRET or --secret-file/ });
});

t.test('the package exports verifyWebhook', async (t) => {
  const name = 'plinth/verify-webhook';
  const { verifyWebhook, WebhookError } = await import(name);
  t.type(verifyWebhook, 'function');
  t.throws(() => verifyWebhook('', {}, 'x'), { name: 'WebhookError', code: 'MISSING_HEADERS' });
  t.type(WebhookError, 'function');
});
