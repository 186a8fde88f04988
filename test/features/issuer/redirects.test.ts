import t from '../../support/test.js';
import { words } from '../../support/words.js';
import { application, authorizationServer, begin, REDIRECT } from './authorization-server.js';

t.jobs = 2;

const WEB = 'https://app.example.org/callback';

/** Variations of a registered address, none of which is the address (RFC 9700 section 4.1). */
const FORGED: readonly (readonly [registered: string, forged: string])[] = [
  ...[
    ...words(`
      https://evil.example/callback https://app.example.org.evil.example/callback
      https://evil.example/app.example.org/callback https://evil.example/?https://app.example.org/callback
      https://evil.example/#https://app.example.org/callback https://app.example.org@evil.example/callback
      https://app.example.org:443@evil.example/callback https://evil.example\\@app.example.org/callback
      https://user:secret@app.example.org/callback https://app.example.org:8443/callback
      https://app.example.org:443/callback http://app.example.org/callback HTTPS://app.example.org/callback
      https://APP.example.org/callback https://www.app.example.org/callback
      https://app.example.org./callback https://app.example.org/callback/ https://app.example.org//callback
      https://app.example.org/callback/../evil https://app.example.org/callback/..
      https://app.example.org/./callback https://app.example.org/callback%2f..%2fevil
      https://app.example.org/%63allback https://app.example.org/Callback
      https://app.example.org/callback?next=https://evil.example https://app.example.org/callback?
      https://app.example.org/callback# https://app.example.org/callback#fragment
      https://app.example.org/callback;x https://app.example.org/callback%00
      https://app.example.org/callback%0d%0aLocation:%20https://evil.example
    `),
    ' https://app.example.org/callback',
    'https://app.example.org/callback ',
    'https://app.example.org\t/callback',
    'https://xn--app-example-org.evil.example/callback',
    '//app.example.org/callback',
    '/callback',
    'callback',
    'javascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'null',
    '*',
  ].map((forged) => [WEB, forged] as const),
  ...words(`
    http://localhost:7777/callback http://[::1]:7777/callback http://127.0.0.2:7777/callback
    http://127.1:7777/callback http://0x7f000001:7777/callback http://2130706433:7777/callback
    http://127.0.0.1.evil.example:7777/callback http://127.0.0.1:7777@evil.example/callback
    http://evil.example#@127.0.0.1:7777/callback https://127.0.0.1:7777/callback
    http://127.0.0.1:7777/callback/.. http://127.0.0.1:7777/callback?x=1 http://127.0.0.1:7777/callback#x
    http://0.0.0.0:7777/callback com.example.app:/callback http://127.0.0.1:7777/other
    http://user@127.0.0.1:7777/callback
  `).map((forged) => [REDIRECT, forged] as const),
];

t.test('a redirect URI that is not the registered one is never followed', async (t) => {
  const server = await authorizationServer(t);
  const web = await server.register({ type: 'confidential', redirect_uris: [WEB] });
  const native = await server.register();
  for (const [registered, forged] of FORGED) {
    const { config } = registered === WEB ? web : native;
    const { url, visitor } = await begin(server, config, { redirect_uri: forged });
    const page = await visitor.open(String(url));
    t.match(page, { status: 400, text: /invalid_redirect_uri|invalid_request/ }, forged);
    t.equal(new URL(page.url).origin, server.issuer, 'the browser stays');
    t.notOk(page.headers.get('location'));
    t.notMatch(page.text, /<script|<a [^>]*href=/);
    const parameters = { ...Object.fromEntries(url.searchParams), client_id: native.id };
    if (registered !== WEB) t.equal((await server.post('/par', parameters)).status, 400, `pushed: ${forged}`);
  }
});

t.test('a request without a redirect URI, with two, or by an unknown client stays too', async (t) => {
  const { server, config } = await application(t, {
    redirect_uris: ['http://127.0.0.1/callback', 'http://127.0.0.1/other'],
  });
  const changes: ((parameters: URLSearchParams) => void)[] = [
    (parameters) => parameters.delete('redirect_uri'),
    (parameters) => parameters.append('redirect_uri', 'https://evil.example/'),
    (parameters) => parameters.set('client_id', 'unknown'),
    (parameters) => parameters.delete('client_id'),
  ];
  for (const change of changes) {
    const { url, visitor } = await begin(server, config);
    change(url.searchParams);
    const page = await visitor.open(String(url));
    t.match(page, { status: 400 });
    t.equal(new URL(page.url).origin, server.issuer);
  }
});
