import type { JsonObject } from '../../../src/json.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import { LOOPBACK, testTarget } from './target.js';

for (const prefix of ['', '/api/v1', '/shop', '/shop/api/v1'])
  t.test(`paths of events, deliveries and versions follow PUBLIC_PREFIX=${prefix}`, async (t) => {
    const hooks = await testTarget(t);
    const { send } = await testService(t, { ...LOOPBACK, PUBLIC_PREFIX: prefix });
    const mounts = prefix === '/shop/api/v1' || prefix === '/shop' ? '/shop' : '';
    t.same((await send('GET', '/')).json.versions, { 1: `${mounts}/api/v1/`, 2: `${mounts}/api/v2/` });

    const made = await send('POST', '/webhooks', { body: { url: `${hooks.url}/hook`, types: ['users.*'] } });
    const webhook = `/webhooks/${made.json.id}`;
    const user = await send('POST', '/users', { body: { email: 'a@example.org', name: 'A' } });
    const path = `${prefix}/users/${user.json.id}`;
    t.equal(user.headers.location, path);
    t.equal(user.json._links.posts.href, `${path}/posts`);
    for (const [list, link] of [
      [`/users/${user.json.id}/posts?page=1`, 'self'],
      ['/items?page=1', 'first'],
      ['/events', 'next'],
    ] as const)
      t.match((await send('GET', list)).json.links[link], new RegExp(`^${prefix}/(users|items|events)`));
    const test = await send('POST', `${webhook}/test`);
    t.equal(test.json.subject, prefix + webhook);
    const ended = await until('both were delivered', async () => {
      const { data } = (await send('GET', `${webhook}/deliveries?status=delivered`)).json;
      return data.length === 2 && (data as JsonObject[]);
    });
    t.same(ended.map(({ subject }) => subject).sort(), [path, prefix + webhook].sort());
    for (const mount of ['', '/api/v2']) {
      const { data } = (await send('GET', `${mount}/events`)).json;
      t.equal(data[0].subject, path, mount);
    }
    for (const { id, subject } of ended) {
      const html = { headers: { accept: 'text/html' } };
      const page = await send('GET', `${webhook}/deliveries/${id}`, html);
      t.match(page.text, `href="${subject}"`);
      t.notMatch(page.text, 'href="//');
      const { event } = (await send('GET', `${webhook}/deliveries/${id}`)).json;
      t.equal(event.subject, subject, 'as in the event');
    }
    for (const list of ['/events', '/users']) {
      const page = await send('GET', list, { headers: { accept: 'text/html' } });
      t.match(page.text, `href="${path}${list === '/events' ? '#version-1' : ''}"`, list);
    }
  });
