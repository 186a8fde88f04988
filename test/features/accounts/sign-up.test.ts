import { noBrowser, openPage } from '../../support/chromium.js';
import { declare } from '../../support/collections.js';
import { byPassword, makeUser, PASSWORD } from '../../support/credentials.js';
import { untilSent } from '../../support/mail-server.js';
import { checkCopy } from '../../support/page-checks.js';
import { testService } from '../../support/service.js';
import type { Constants } from '../../support/settings.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';
import { codeIn, loggedMessages, QUICK_MAIL, rowsOf } from './mailing.js';

t.jobs = 3;

const FORM = 'application/x-www-form-urlencoded';
const ADA = 'ada@example.org';
const SETTINGS = {
  AUTH: 'basic',
  INSECURE: 'basic',
  MAIL: 'log',
  PUBLIC_URL: 'https://api.example.org',
  SIGN_UP: 'open',
};

/** A service without users. */
async function start(t: Test, env: Record<string, string> = {}, constants: Constants = {}) {
  const service = await testService(t, { ...SETTINGS, ...env }, { ...QUICK_MAIL, ...constants });
  t.teardown(() => untilSent(service));
  const post = (body: object, headers: Record<string, string> = {}) =>
    service.send('POST', '/sign-up', { body, headers });
  const messages = () => loggedMessages(service);
  /** The code of a message to an address. */
  const codeTo = async (email: string) => {
    await post({ email });
    const { text } = await until('the message is in the log', () =>
      messages().find(({ recipient }) => recipient === email),
    );
    return codeIn(text);
  };
  /** A response to `/whoami` with the password. */
  const enter = (email: string) => service.send('GET', '/whoami', { headers: byPassword(email) });
  return { service, post, messages, codeTo, enter };
}

const codeOf = ({ json }: { json: { error: { code: string } } }) => json.error.code;

t.test('a person signs up', async (t) => {
  const { service, post, messages, codeTo, enter } = await start(t, { SIGN_UP_SCOPES: 'items:read' });
  t.match(await post({ email: ' Ada@Example.org ' }), { status: 202, text: '{}' });
  const code = await codeTo(ADA);
  t.match(messages()[0]!.text, `https://api.example.org/sign-up?code=`);
  t.equal(await rowsOf(service, 'plinth_users'), 0, 'no record before the address is confirmed');
  const response = await post({ code, name: 'Ada', password: PASSWORD, email: 'eve@example.org' });
  t.equal(response.status, 201);
  const { id } = response.json;
  t.equal(response.headers.location, `/users/${id}`);
  t.match((await enter(ADA)).json, { subject: id });
  const [granted] = await service.db.run('select user_id, scopes from user_scopes', []);
  t.same(granted, { user_id: id, scopes: '{items:read}' });
  t.equal((await enter('eve@example.org')).status, 401);
  const [user] = await service.db.run('select doc from plinth_users', []);
  t.match(JSON.parse(String(user!.doc)), { id, email: ADA, name: 'Ada', _version: 1 });
  const [event] = await service.db.run('select actor from events', []);
  t.equal(event!.actor, id, 'the person is the actor');
  t.match(await post({ code, ...PERSON }), { status: 403 }, 'once');
});

const PERSON = { name: 'Ada', password: PASSWORD };
const REFUSED: readonly [says: string, body: object, refusal: string][] = [
  ['an unknown code', { code: 'AAAA-BBBB-CCCC-DDDD', ...PERSON }, '403 CODE_ENDED'],
  ['an empty code', { code: '', ...PERSON }, '403 CODE_ENDED'],
  ['a code that is no text', { code: 7, ...PERSON }, '403 CODE_ENDED'],
  ['no address', { email: 'no address' }, '400 VALIDATION_ERROR'],
  ['two addresses', { email: 'a@example.org,b@example.org' }, '400 VALIDATION_ERROR'],
  ['an address of two lines', { email: 'a@example.org\nBcc: b@example.org' }, '400 VALIDATION_ERROR'],
  ['a long address', { email: `${'x'.repeat(5000)}@example.org` }, '400 VALIDATION_ERROR'],
  ['nothing', {}, '400 VALIDATION_ERROR'],
  ['another domain', { email: 'ada@example.org.example.com' }, '403 SIGN_UP_REFUSED'],
  ['a domain below it', { email: 'ada@x.example.org' }, '403 SIGN_UP_REFUSED'],
];

t.test('requests that are refused', async (t) => {
  const { post, service } = await start(t, { SIGN_UP: 'domains', SIGN_UP_DOMAINS: 'Example.org' });
  for (const [says, body, refusal] of REFUSED) {
    const response = await post(body);
    t.equal(`${response.status} ${codeOf(response)}`, refusal, says);
  }
  const body = JSON.stringify({ email: ADA });
  t.equal((await service.send('POST', '/sign-up', { body, type: 'text/plain' })).status, 415);
  t.equal((await post({ email: ADA })).status, 202);
  t.equal(await rowsOf(service, 'plinth_users'), 0);
});

t.test('a code ends with another setting', async (t) => {
  const { codeTo, service } = await start(t);
  const code = await codeTo(ADA);
  const domains = { SIGN_UP: 'domains', SIGN_UP_DOMAINS: 'example.com' };
  const other = await start(t, { ...domains, DATABASE_URL: service.databaseUrl });
  t.equal((await other.post({ code, ...PERSON })).status, 403);
});

t.test('nothing tells whether an address is known', async (t) => {
  const { service, post, messages } = await start(t);
  await makeUser(service, ADA);
  const shown = new Set<string>();
  for (const email of [ADA, 'eve@example.org']) {
    const { status, text, headers } = await post({ email });
    shown.add(JSON.stringify([status, text, Object.keys(headers).sort()]));
  }
  t.equal(shown.size, 1);
  const page = async (email: string) => {
    const body = new URLSearchParams({ email }).toString();
    const { status, text } = await service.send('POST', '/sign-up', { body, type: FORM });
    return [status, text];
  };
  t.same(await page(ADA), await page('eve@example.org'));
  await until('the messages are in the log', () => messages().length === 4);
  for (const { recipient, subject, text } of messages()) {
    t.match(subject, recipient === ADA ? /^You have an account for/ : /^Your account for/);
    t.match(text, recipient === ADA ? /\/forgotten-password\n/ : /\/sign-up\?code=/);
  }
});

t.test('a disabled user gets no message', async (t) => {
  const { service, post, messages } = await start(t);
  const { id } = await makeUser(service, ADA);
  await service.db.run('insert into plinth_disabled_users (user_id) values ($1)', [id]);
  t.equal((await post({ email: ADA })).status, 202);
  await service.send('POST', '/forgotten-password', { body: { email: ADA } });
  await untilSent(service);
  t.same(messages(), []);
});

t.test('a sign-up holds no address', async (t) => {
  const { service, post, codeTo } = await start(t);
  const code = await codeTo(ADA);
  await makeUser(service, ADA);
  const response = await post({ code, ...PERSON });
  t.equal(response.status, 409);
  t.equal(codeOf(response), 'EMAIL_TAKEN');
});

t.test('entries that the declaration refuses do not use the code', async (t) => {
  const { service, post, codeTo, enter } = await start(t);
  const code = await codeTo(ADA);
  const whole = { code, name: 'Ada', password: PASSWORD };
  const rows: [body: object, status: number, text: RegExp][] = [
    [{ code, password: PASSWORD }, 400, /name/],
    [{ code, name: 'Ada' }, 400, /password/],
    [{ ...whole, password: 'short' }, 400, /password/],
    [{ ...whole, password: 'password1' }, 400, /password/],
    [{ ...whole, age: -1 }, 400, /age/],
    [{ ...whole, password_hash: 'x' }, 400, /password_hash/],
    [{ ...whole, isAdmin: true }, 403, /FIELDS_DENIED.*isAdmin/],
    // PostgreSQL could not read a stored record with these.
    [{ ...whole, name: '\ud800' }, 400, /lone surrogate/],
    [{ ...whole, name: 'A\0' }, 400, /U\+0000/],
    [{ ...whole, password: `${PASSWORD}\ud800` }, 400, /lone surrogate/],
  ];
  for (const [body, status, text] of rows) t.match(await post(body), { status, text }, JSON.stringify(body));
  t.equal((await post({ ...whole, age: 36 })).status, 201);
  t.equal((await enter(ADA)).status, 200);
  t.equal(await rowsOf(service, `plinth_users where doc like '%isAdmin%'`), 0);
});

t.test('a failure between the steps leaves the code valid, and no user', async (t) => {
  const { service, post, codeTo } = await start(t, { SIGN_UP_SCOPES: 'items:read' });
  const code = await codeTo(ADA);
  const body = { code, ...PERSON };
  await service.db.run('alter table user_scopes rename to no_scopes', []);
  t.equal((await post(body)).status, 500);
  t.equal(await rowsOf(service, 'plinth_users'), 0);
  await service.db.run('alter table no_scopes rename to user_scopes', []);
  t.equal((await post(body)).status, 201);
});

const text = { type: 'string' };
const people = (access?: object[]) => ({
  type: 'object',
  required: ['email', 'name', 'team', 'seats', 'terms'],
  properties: {
    email: { ...text, format: 'email', 'x-normalize': ['trim', 'nfc', 'lower'], 'x-unique': true },
    name: text,
    team: { ...text, title: 'Your team', enum: ['red', 'blue'] },
    seats: { type: 'integer' },
    terms: { type: 'boolean', const: true },
    role: { ...text, default: 'member' },
    leader: { ...text, format: 'uuid', 'x-references': 'users' },
    password: { ...text, minLength: 8, writeOnly: true },
  },
  'x-collection': { owner: true, ...(access && { access }) },
});

const GRANT = {
  can: ['read', 'update'],
  where: { id: '$caller' },
  fields: ['email', 'name', 'team', 'seats', 'terms', 'leader', 'password'],
};

t.test('an address that the declaration of users refuses gets no message', async (t) => {
  const { properties, ...others } = people();
  const email = { ...properties.email, pattern: '@example\\.org$' };
  const declared = { ...others, properties: { ...properties, email } };
  const { post, service } = await start(t, {
    COLLECTIONS: declare(t, { 'users.json': declared }),
    MIGRATE: 'auto',
  });
  t.match(await post({ email: 'ada@example.com' }), { status: 400, text: '"path":"/email"' });
  t.equal(await rowsOf(service, 'plinth_mail'), 0);
  t.equal((await post({ email: ADA })).status, 202);
});

t.test('access rules decide about the fields of the person', async (t) => {
  const COLLECTIONS = declare(t, { 'users.json': people([GRANT]) });
  const { post, codeTo, service } = await start(t, { COLLECTIONS, MIGRATE: 'auto' });
  const code = await codeTo(ADA);
  const body = { code, name: 'Ada', team: 'red', seats: 2, terms: true, password: PASSWORD };
  const leader = '0190a5f2-7d3c-7e1a-8b4f-0123456789ab';
  for (const more of [{ role: 'owner' }, { leader }, { nickname: 'A' }])
    t.equal(codeOf(await post({ ...body, ...more })), 'FIELDS_DENIED');
  t.equal((await post(body)).status, 201);
  const [user] = await service.db.run('select doc from plinth_users', []);
  t.match(JSON.parse(String(user!.doc)), { team: 'red', role: 'member' });
});

t.test('unknown scopes are refused', async (t) => {
  await t.rejects(start(t, { SIGN_UP_SCOPES: 'item:read' }), /SIGN_UP_SCOPES: .item:read. is not a scope/);
});

for (const width of [1280, 390])
  t.test(`in a browser without script, ${width} px`, { skip: noBrowser }, async (t) => {
    const COLLECTIONS = declare(t, { 'users.json': people() });
    const { service, messages, enter } = await start(t, { COLLECTIONS, MIGRATE: 'auto' });
    const page = await openPage(t, service.url, { width, javaScriptEnabled: false });
    const check = (name: string) =>
      checkCopy(t, service.url, page, name, [{ width }, { width, colorScheme: 'dark' }]);
    await page.goto('/sign-up');
    await check('the form');
    await page.locator('#email').fill(ADA);
    await page.keyboard.press('Enter');
    await page.getByRole('status').waitFor();
    await check('after it');
    const { text } = await until('the message is in the log', () => messages()[0]);
    await page.goto(new URL(/https:\S+/.exec(text)![0]).href.replace('https://api.example.org', service.url));
    await page.locator('#field-name').fill('Ada');
    await page.getByLabel('Your team').selectOption('blue');
    await page.locator('#field-seats').fill('3');
    await page.getByLabel('Terms').check();
    await page.locator('#password').fill('password1');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await check('a fault');
    t.equal(await page.locator('#field-name').inputValue(), 'Ada');
    await page.locator('#password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('status').waitFor();
    await check('the end');
    t.equal((await enter(ADA)).status, 200);
    const [user] = await service.db.run('select doc from plinth_users', []);
    t.match(JSON.parse(String(user!.doc)), { name: 'Ada', team: 'blue', seats: 3, terms: true });
  });
