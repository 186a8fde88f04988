import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { setUserScopes } from '../../../src/auth/user-scopes.js';
import { openPage, type PageOptions } from '../../support/chromium.js';
import { declare } from '../../support/collections.js';
import { plinth } from '../../support/command.js';
import { makeKey, PASSWORD } from '../../support/credentials.js';
import { folderOf } from '../../support/folder.js';
import { declarationsUnder } from '../../support/page-commands.js';
import { UNDECLARED, undeclaredDatabase } from '../../support/service.js';
import type { Test } from '../../support/test.js';
import { words } from '../../support/words.js';
import { authorizationServer } from '../issuer/authorization-server.js';

const NORTHWIND = fileURLToPath(new URL('../../../../test/fixtures/northwind.json', import.meta.url));
const RECIPES = 'docs/recipes.md';
const USERS = declarationsUnder(RECIPES, 'Begin');

type Declaration = Record<string, unknown> & { readonly 'x-collection'?: object };

/** A service with users, one administrator and one member, and a browser for each. */
async function office(t: Test, env: Record<string, string>, scopes: readonly string[]) {
  const server = await authorizationServer(t, {
    AUTH: 'bearer,api-key',
    AUTH_SERVER: 'on',
    MIGRATE: 'auto',
    ...env,
  });
  const { service } = server;
  const users = service.collections.find(({ resource }) => resource.hasPasswords)!.whole;
  const add = async (email: string, name: string, given: readonly string[]) => {
    const { id } = await users.create(users.check({ email, name, password: PASSWORD }));
    await setUserScopes(service.db, id, given);
    return { id, email, name };
  };
  const admin = await add('ada@example.org', 'Ada Admin', ['admin']);
  const member = await add('ben@example.org', 'Ben Example', scopes);
  const { key } = await makeKey(service.db, { subject: admin.id, scopes: ['admin'] });
  /** Creates a record as the administrator. */
  const make = async (path: string, body: object) => {
    const { status, json, text } = await service.send('POST', path, { body, headers: { 'x-api-key': key } });
    t.equal(status, 201, text);
    return json;
  };
  /** Sends a request as the administrator. */
  const send: typeof service.send = (method, path, options = {}) =>
    service.send(method, path, { ...options, headers: { 'x-api-key': key, ...options.headers } });
  /** A page of the service for a user who has signed in. */
  const open = async (email: string, options: PageOptions = {}): Promise<Page> => {
    const page = await openPage(t, service.url, options);
    await page.goto('/account?return=/');
    await page.fill('input[name="email"]', email);
    await page.fill('input[name="password"]', PASSWORD);
    await page.click('button[value="sign-in"]');
    await page.getByRole('heading', { level: 1, name: 'Plinth' }).waitFor();
    return page;
  };
  return { ...server, admin, member, open, make, send };
}

/** Northwind, imported with `--infer`. Members read all, and change the orders of one country. */
export async function northwind(t: Test) {
  const cwd = folderOf(t);
  const DATABASE_URL = await undeclaredDatabase(t);
  const folder = join(cwd, 'collections');
  const imported = await plinth(t, ['import', NORTHWIND, '--infer'], { DATABASE_URL }, { cwd });
  t.equal(imported.code, 0, imported.err);
  for (const [name, text] of Object.entries(USERS)) writeFileSync(join(folder, name), text);
  const file = join(folder, 'orders.json');
  const orders = JSON.parse(readFileSync(file, 'utf8')) as Declaration;
  const access = [
    { can: 'read', scope: 'orders:read' },
    { can: ['create', 'update'], where: { shipCountry: 'Germany' } },
    { can: 'all', scope: 'admin' },
  ];
  writeFileSync(file, JSON.stringify({ ...orders, 'x-collection': { ...orders['x-collection'], access } }));
  const readers = words(`
    customers products categories suppliers shippers employees orderdetails orders
  `);
  return office(
    t,
    { DATABASE_URL, COLLECTIONS: folder },
    readers.map((name) => `${name}:read`),
  );
}

/** The tracker of the recipes, whose issues have a day on which they are due. */
export async function recipes(t: Test, env: Record<string, string> = {}) {
  const files = declarationsUnder(RECIPES, 'Teams with roles');
  const issues = JSON.parse(files['issues.json']!) as Declaration & { readonly properties: object };
  const dueOn = { type: 'string', format: 'date', 'x-index': true };
  const collections = {
    ...USERS,
    ...files,
    'issues.json': { ...issues, properties: { ...issues.properties, dueOn } },
  };
  const own = await office(t, { COLLECTIONS: declare(t, collections), DATABASE_URL: UNDECLARED, ...env }, [
    'self',
  ]);
  return own;
}

const SUBJECTS = ['Labels print at half size', 'Export leaves out the VAT', 'Crash when the phone turns'];

/** The tracker with something on every page, and the addresses of one page of each kind. */
export async function filledTracker(t: Test) {
  const own = await recipes(t, { WEBHOOK_ALLOW: '127.0.0.1', INSECURE: 'webhooks' });
  const { make, admin, member, service, register } = own;
  const team = await make('/teams', { name: 'Web' });
  const ben = await make('/memberships', { teamId: team.id, userId: member.id, role: 'member' });
  const projects = [
    await make('/projects', { name: 'Checkout redesign', teamId: team.id }),
    await make('/projects', { name: 'Push notifications', teamId: team.id }),
  ];
  let issue = '';
  for (let at = 0; at < 60; at++)
    issue = (
      await make('/issues', {
        title: `${SUBJECTS[at % 3]} (${at})`,
        projectId: projects[at % 2].id,
        status: at % 4 === 0 ? 'closed' : 'open',
        dueOn: `2026-11-${String(10 + (at % 20))}`,
        text: `Ben: seen again in version ${at}. `.repeat(6),
        ...(at % 2 === 1 && { assigneeId: ben.id }),
      })
    ).id;
  for (const text of ['Works on a Pixel 9 now.', 'Seen on two printers', 'No longer', 'Again'])
    await make('/comments', { issueId: issue, text });
  await own.send('PATCH', `/issues/${issue}`, {
    body: { status: 'closed', text: 'Fixed by the new layout.' },
  });
  const key = await makeKey(service.db, {
    ...{ subject: member.id, scopes: ['self'], label: 'Reports' },
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  await register({ name: 'Planning board' });
  const hook = await make('/webhooks', { url: 'http://127.0.0.1:9/hooks', types: ['issues.*'] });
  const lines = projects.map(({ id }) => JSON.stringify({ title: 'Imported', projectId: id })).join('\n');
  const job = await own.send('POST', '/issues', {
    ...{ body: lines, type: 'application/x-ndjson', headers: { prefer: 'respond-async' } },
  });
  const paths = [
    ...['/', '/?_search=vat', '/issues', '/issues?filter[status]=open&search=vat&sort=dueOn'],
    ...['/issues?search=nothing', `/issues/${issue}`, `/issues/${issue}?_edit`, `/issues/${issue}?_delete`],
    ...['/issues?_new', '/issues?_filter=1', '/issues?_columns=1', '/issues?group=status&sort=-count'],
    ...[`/projects/${projects[0].id}/issues`, `/projects/${projects[0].id}`, '/users', `/users/${admin.id}`],
    ...['/user-accounts', `/user-accounts/${member.id}`, `/user-accounts/${member.id}?_edit`],
    ...['/keys', `/keys/${key.id}`, '/keys?_new', '/webhooks', '/webhooks?_new', `/webhooks/${hook.id}`],
    ...[`/webhooks/${hook.id}/deliveries`, '/oauth-clients', '/oauth-clients?_new'],
    ...['/jobs', job.headers.location, '/events'],
    ...['/declaration-files', '/declaration-files?collection=issues', '/api-versions', '/docs'],
    ...['/errors', '/errors/GONE', '/whoami', '/account', '/nothing', '/issues/nothing'],
  ];
  return { ...own, issue, paths: paths as string[] };
}
