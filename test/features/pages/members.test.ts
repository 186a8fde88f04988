import t from '../../support/test.js';
import { recipes } from './offices.js';
import { linksOf, PageVisitor } from './visitor.js';

t.test('pages of members under access rules', async (t) => {
  const { service, admin, member, make, send } = await recipes(t);
  const open = async (email: string) => {
    const visitor = new PageVisitor(service, { 'sec-fetch-mode': 'navigate' });
    t.equal((await visitor.signIn(email)).status, 303);
    return visitor;
  };
  const [ada, ben] = [await open(admin.email), await open(member.email)];
  const team = await make('/teams', { name: 'Web' });
  await make('/memberships', { teamId: team.id, userId: member.id, role: 'member' });
  const project = await make('/projects', { name: 'Checkout', teamId: team.id });
  const issues = await Promise.all(
    ['One', 'Two'].map((title) => make('/issues', { title, projectId: project.id })),
  );

  t.test('buttons that no rule permits are absent', async (t) => {
    for (const [visitor, isOffered] of [
      [ada, true],
      [ben, false],
    ] as const)
      for (const path of ['/', '/users', '/users?filter[name]=none']) {
        const { text } = await visitor.get(path);
        t.equal(linksOf(text).includes('/users?_new'), isOffered, path);
      }
    t.ok(linksOf(await ben.text('/')).includes('/teams?_new'), 'each user may create a team');
    t.match(await ben.text('/users'), 'Delete…', 'one record is its own');
    t.notMatch(await ben.text('/users?_new'), '<h1>New user</h1>');
  });

  t.test(
    'a person sees which of the chosen records it may not delete, before it deletes the others',
    async (t) => {
      const list = await ben.get('/users');
      const both = { _id: [admin.id, member.id], _bulk: 'DELETE' };
      const { text } = await ben.submit(t, list, 'Delete…', both);
      t.match(text, /You may not delete these, which stay as they are:<\/p><ul><li>Ada Admin<\/li><\/ul>/);
      t.match(text, /<h1>Delete 1 user<\/h1>[\s\S]*<li>Ben Example<\/li>/);
      t.notMatch(text, `value="${admin.id}"`);
      const none = await ben.submit(t, list, 'Delete…', { ...both, _id: admin.id });
      t.match(none.text, /<h1>Nothing to delete<\/h1>[\s\S]*<li>Ada Admin<\/li>/);
    },
  );

  t.test('a key is for a user by name, or for a program by another text', async (t) => {
    const form = await ada.get('/keys?_new');
    t.match(form.text, '<option value="Ben Example">');
    for (const [subject, stored] of [
      ['Ben Example', member.id],
      ['nightly-report', 'nightly-report'],
    ]) {
      const values = { '/label': `of ${subject}`, '/subject': subject!, '/scopes': 'self' };
      t.equal((await ada.submit(t, form, 'Create', { ...values, _key: stored! })).status, 200);
      const { data } = (await send('GET', '/keys')).json;
      t.equal(data[0].subject, stored);
      t.match(await ada.text('/keys'), `>of ${subject}</a></th>`);
      t.match(await ada.text('/keys'), new RegExp(`data-label="Subject">(<a [^>]*>)?${subject}<`));
    }
    const near = await ada.submit(t, form, 'Create', { '/label': 'x', '/subject': 'Ben Exampel' });
    t.match(near.text, `>Ben Example</option></select>`);
  });

  t.test('a page of a record leads to a form that names it', async (t) => {
    const link = `/teams/${team.id}/memberships?_new`;
    t.ok(linksOf(await ada.text(`/teams/${team.id}`)).includes(link));
    const user = linksOf(await ada.text(`/users/${member.id}`)).find((href) =>
      href.startsWith('/memberships?_new'),
    )!;
    t.match(await ada.text(user), /name="\/userId"[^>]* value="Ben Example"/);
  });

  t.test('the path to a page is the same after its form was refused', async (t) => {
    const crumbs = ({ text }: { text: string }) => [
      /<nav class="crumbs"[\s\S]*?<\/nav>/.exec(text)![0],
      /<h1>[^<]*/.exec(text)![0],
    ];
    for (const [path, button, values] of [
      [`/projects/${project.id}/issues?_new`, 'Create', { '/title': '' }],
      [`/issues/${issues[0].id}?_edit`, 'Save', { '/title': '' }],
      [`/user-accounts/${member.id}?_edit`, 'Save', { '/scopes': 'no:scope' }],
      ['/keys?_new', 'Create', { '/label': '' }],
    ] as const) {
      const form = await ada.get(path);
      const refused = await ada.submit(t, form, button, values);
      t.equal(refused.status, 400, path);
      t.same(crumbs(refused), crumbs(form), path);
    }
  });

  t.test('a search without result leads to the filter by names', async (t) => {
    const { text } = await ben.get('/issues?search=nothing');
    t.match(text, '<a href="/issues?_filter=1">filter by the names of others</a>, which no search finds.');
  });

  t.test('pages of errors name the user who has signed in', async (t) => {
    for (const path of ['/nothing', '/issues/nothing', '/keys', '/issues?sort=nothing']) {
      const { status, text } = await ben.get(path);
      t.ok(status >= 400 && status < 500, path);
      t.match(text, `<a href="/users/${member.id}">Ben Example</a>`, path);
      t.notMatch(text, 'Sign in', path);
    }
    t.match((await new PageVisitor(service).get('/nothing')).text, 'Sign in');
    const cookie = [...ben.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const script = { accept: 'text/html', cookie, 'sec-fetch-dest': 'empty' };
    t.notMatch((await service.send('GET', '/nothing', { headers: script })).text, 'Ben Example');
  });

  t.test('the list below a record changes several records, and its records are the way back', async (t) => {
    const path = `/projects/${project.id}/issues`;
    const list = await ada.get(`${path}?sort=title`);
    const ids = issues.map(({ id }) => id);
    const chosen = { _id: ids, _bulk: 'PATCH', _field: '/status' };
    const confirmation = await ada.submit(t, list, 'Edit…', chosen);
    const back = `/issues?sort=title&filter%5BprojectId%5D=${project.id}`;
    t.match(confirmation.text, `<a href="${back.replaceAll('&', '&#38;')}">Cancel</a>`);
    const changed = await ada.submit(t, confirmation, 'Change 2 issues', { '/status': 'closed', _id: ids });
    const location = `${back}&_done=saved`;
    t.match(changed, { status: 303, headers: { location } });
    t.equal((await send('GET', `/issues/${ids[0]}`)).json.status, 'closed');
  });

  t.test('an administrator ends the sessions of a user', async (t) => {
    const path = `/user-accounts/${member.id}`;
    const other = await open(member.email);
    t.equal((await other.get('/issues')).status, 200);
    const page = await ada.get(path);
    t.notMatch(await ada.text(`${path}?_edit`), 'name="/sessions"');
    const ended = await ada.submit(t, page, 'End all sessions');
    t.match([ended.status, ended.headers.location], [303, `${path}?_done=saved`]);
    t.equal((await other.get('/issues')).status, 401);
    t.match(await ada.text(path), '<dt>Sessions</dt><dd>0</dd>');
  });
});
