import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../../src/config/config.js';
import { PAGE_SETTINGS } from '../../../src/features/pages/settings.js';
import { noBrowser, openPage } from '../../support/chromium.js';
import { checkPage } from '../../support/page-checks.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';
import { authorizationServer } from '../issuer/authorization-server.js';
import { PageVisitor } from './visitor.js';

const folder = mkdtempSync(join(tmpdir(), 'plinth-site-'));
const LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4"/></svg>';
writeFileSync(join(folder, 'logo.svg'), LOGO);
writeFileSync(join(folder, 'large.png'), Buffer.alloc(32_769));
writeFileSync(join(folder, 'UPPER.PNG'), LOGO);
mkdirSync(join(folder, 'folder.svg'));

t.test('pages have the name, the logo and the colour of the settings', async (t) => {
  const env = { SITE_NAME: 'A & B', SITE_COLOUR: '#7a1f5c', SITE_LOGO: join(folder, 'logo.svg') };
  const service = await testService(t, env);
  const page = await new PageVisitor(service).get('/users');
  t.match(page.text, '<title>Users · A &#38; B</title>');
  t.match(page.text, '/">A &#38; B</a>');
  t.match(page.headers['content-security-policy'], "style-src 'self'; script-src 'self'; img-src data:;");
  const [, path] = /<link rel="stylesheet" href="([^"]+)"/.exec(page.text)!;
  const style = (await service.send('GET', path!)).text;
  t.match(style, `url(data:image/svg+xml;base64,${Buffer.from(LOGO).toString('base64')})`);
  t.match(style, '--link:#7a1f5c');
  t.match((await new PageVisitor(service).get('/keys/x')).text, 'A &#38; B');
  t.test('in a browser', { skip: noBrowser }, async (t) => {
    const page = await openPage(t, service.url);
    await page.goto('/users?_new');
    await page.getByRole('button', { name: 'Create user' }).waitFor();
    const colour = `getComputedStyle(document.querySelector('.main')).backgroundColor`;
    t.equal(await page.evaluate(colour), 'rgb(122, 31, 92)');
    await checkPage(t, page, 'a form', [{ width: 320 }, { width: 1280, colorScheme: 'dark' }]);
  });
});

t.test('the page of the sign-in has them, too', { skip: noBrowser }, async (t) => {
  const env = { SITE_NAME: 'A & "B" \\', SITE_COLOUR: '#7a1f5c', SITE_LOGO: join(folder, 'logo.svg') };
  const { service } = await authorizationServer(t, env);
  const page = await openPage(t, service.url, { width: 390 });
  await page.goto('/account');
  const [name, colour] = await page.evaluate<[string, string]>(`[
    getComputedStyle(document.querySelector('main'), '::before').content,
    getComputedStyle(document.querySelector('button.main')).backgroundColor,
  ]`);
  t.same([JSON.parse(name), colour], ['A & "B" \\', 'rgb(122, 31, 92)']);
  await checkPage(t, page, 'sign-in', [{ width: 320 }, { width: 1280, colorScheme: 'dark' }]);
});

t.test('a colour without six digits, and a file that is no logo, are refused', async (t) => {
  const faultsOf = (env: Record<string, string>) => () => readConfig(env, {}, folder, [PAGE_SETTINGS]);
  for (const [name, value] of [
    ['SITE_COLOUR', '#fc0'],
    ['SITE_COLOUR', 'red'],
    ['SITE_LOGO', 'missing.svg'],
    ['SITE_LOGO', 'large.png'],
    ['SITE_LOGO', 'folder.svg'],
    ['SITE_LOGO', 'logo.txt'],
  ] as const)
    t.throws(faultsOf({ [name]: value }), { message: new RegExp(`^${name} must be`) }, `${name}=${value}`);
  const { siteLogo } = PAGE_SETTINGS.of(readConfig({ SITE_LOGO: 'UPPER.PNG' }, {}, folder, [PAGE_SETTINGS]));
  t.match(siteLogo, /^data:image\/png/);
  t.equal(PAGE_SETTINGS.of(readConfig({}, {}, folder, [PAGE_SETTINGS])).siteName, 'Plinth');
});
