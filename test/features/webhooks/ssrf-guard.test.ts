import { promisify } from 'node:util';
import { guardedLookup, openSender } from '../../../src/features/webhooks/http-sender.js';
import { WEBHOOK_SETTINGS } from '../../../src/features/webhooks/settings.js';
import { hostOf, isInside, readTarget } from '../../../src/features/webhooks/target-url.js';
import { readSettings } from '../../support/settings.js';
import t from '../../support/test.js';
import { words } from '../../support/words.js';
import { testTarget } from './target.js';

const rulesOf = (env: Record<string, string>) => {
  const config = readSettings(env);
  return {
    allowed: WEBHOOK_SETTINGS.of(config).webhookAllow,
    insecure: config.insecure.includes('webhooks'),
  };
};
const STRICT = rulesOf({});

t.test('what is not the public internet is inside', async (t) => {
  const inside = `0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.254
    168.63.129.16 169.254.169.254 169.254.0.1 172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.1.1
    198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.9 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255
    :: ::1 ::2 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:a9fe:a9fe 0:0:0:0:0:ffff:c0a8:0101
    64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 100::1 fc00::1 fd00:ec2::254 fdff::1 fe80::1 fe80::1%eth0
    fec0::1 ff02::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:db8::1 2002:7f00:1::
    2002:808:808:: 3fff::1 5f00::1 4000::1 ::ffff:0:127.0.0.1 name 1.2.3 256.1.1.1`;
  for (const address of inside.split(/\s+/)) t.ok(isInside(address), address);
  for (const address of `8.8.8.8 1.1.1.1 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 169.253.1.1 11.0.0.1 126.1.1.1
    128.0.0.1 223.255.255.255 198.20.0.1 2606:4700::1111 2a00:1450:4001::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2001:4860::8888
    2003::1`.split(/\s+/))
    t.notOk(isInside(address), address);
});

t.test('a URL is judged in every notation of an address', async (t) => {
  const wrong: [url: string, message: string][] = [
    ['http://example.org/', 'must be an https URL; INSECURE=webhooks allows http'],
    ['ftp://example.org/', 'must be an https URL; INSECURE=webhooks allows http'],
    ['file:///etc/passwd', 'must be an https URL; INSECURE=webhooks allows http'],
    ['example.org', 'must be a URL'],
    ['https://', 'must be a URL'],
    [`https://example.org/${'x'.repeat(2048)}`, 'must be a URL'],
    ['https://u:p@example.org/', 'must not hold credentials'],
    ['https://u@example.org/', 'must not hold credentials'],
    ...words(`
      127.0.0.1 127.1 0x7f.1 0x7f000001 2130706433 017700000001 0177.0.0.1 127.0.0.1. 0 １２７.0.0.1 [::1]
      [::ffff:127.0.0.1] [0:0:0:0:0:ffff:7f00:1] [fe80::1] [fd00:ec2::254] 169.254.169.254 10.1.2.3:8443
      %31%32%37.0.0.1 ①②⑦.0.0.1
    `).map((host): [string, string] => [
      `https://${host}/x`,
      `must not be an address of a private network; WEBHOOK_ALLOW=${hostOf(new URL(`https://${host}/`))} allows it`,
    ]),
  ];
  for (const [url, message] of wrong) t.equal(readTarget(url, STRICT), message, url);
  for (const [url, href] of [
    ['https://example.org', 'https://example.org/'],
    ['https://EXAMPLE.org:443/a?b#c', 'https://example.org/a?b'],
    ['https://8.8.8.8:8443/x', 'https://8.8.8.8:8443/x'],
    ['https://[2606:4700::1]/', 'https://[2606:4700::1]/'],
  ] as const)
    t.equal(String(readTarget(url, STRICT)), href);
  t.equal(readTarget('ftp://example.org', rulesOf({ INSECURE: 'webhooks' })), 'must be an https or http URL');
  t.type(readTarget('http://example.org', rulesOf({ INSECURE: 'webhooks' })), URL);
});

t.test('WEBHOOK_ALLOW names hosts, addresses and networks', async (t) => {
  const rules = rulesOf({ WEBHOOK_ALLOW: 'Hooks.Internal, 10.1.0.0/16 127.0.0.1 fd00::/8' });
  for (const host of ['10.1.2.3', '127.0.0.1', '[fd12::1]', '[::ffff:127.0.0.1]'])
    t.type(readTarget(`https://${host}/`, rules), URL, host);
  for (const host of ['10.2.0.1', '127.0.0.2', '[fc00::1]', '169.254.169.254'])
    t.match(readTarget(`https://${host}/`, rules), /^must not be an address of a private network/, host);
  const resolve = async () => [{ address: '10.9.9.9', family: 4 }];
  const look = promisify(guardedLookup(rules.allowed, resolve));
  t.equal(await look('hooks.internal', {}), '10.9.9.9');
  await t.rejects(look('other.internal', {}), { code: 'ADDRESS_REFUSED' });
  for (const text of ['127.1', '0x7f.1', '10.0.0.0/33', 'a b/c', 'http://x', '[::1]', '*'])
    t.throws(() => readSettings({ WEBHOOK_ALLOW: text }), /^WEBHOOK_ALLOW must be/, text);
});

t.test('of what a name resolves to only addresses that are allowed are connected to', async (t) => {
  const addresses = ['10.0.0.1', '8.8.8.8', '::1', '2606:4700::1'].map((address) => ({
    address,
    family: address.includes(':') ? 6 : 4,
  }));
  const look = guardedLookup(STRICT.allowed, async () => addresses);
  const all = (options: object) =>
    new Promise((resolve) => look('name', options, (error, found) => resolve(error ?? found)));
  t.same(await all({ all: true }), [addresses[1], addresses[3]]);
  t.equal(await all({}), '8.8.8.8');
  t.equal(await all({ family: 6 }), '2606:4700::1');
});

t.test('a name that means another address each time reaches nothing inside', async (t) => {
  const target = await testTarget(t);
  const { port } = new URL(target.url);
  let lookups = 0;
  // The first lookup gives an allowed address; a second one to connect would get the other.
  const sender = openSender(STRICT.allowed, 5000, async () => [
    { address: lookups++ === 0 ? '192.0.0.1' : '127.0.0.1', family: 4 },
  ]);
  t.teardown(() => sender.close());
  for (let n = 0; n < 4; n++)
    t.match(await sender.post(new URL(`http://rebind.test:${port}/`), {}, '{}'), {
      error: 'ADDRESS_REFUSED',
    });
  t.equal(lookups, 4, 'one resolution for each connection, and its result is the one that is judged');
  t.match(await sender.post(new URL(`http://127.0.0.1:${port}/`), {}, '{}'), { error: 'ADDRESS_REFUSED' });
  t.equal(target.received.length, 0);
});

t.test('localhost, as the operating system resolves it, is inside', async (t) => {
  const target = await testTarget(t);
  const sender = openSender(STRICT.allowed, 5000);
  t.teardown(() => sender.close());
  const url = new URL(target.url);
  url.hostname = 'localhost';
  t.match(await sender.post(url, {}, '{}'), { status: undefined, error: 'ADDRESS_REFUSED' });
  t.equal(target.received.length, 0);
});
