import { AUDIENCE, claims, sign, signingKey, testIssuer } from '../support/issuer.js';
import t, { type Test } from '../support/test.js';
import { type Caller, checkTable, openRecipe } from './recipe.js';

/** Two teams, of which one has a user in each role, a project, an issue and a comment by the member. */
async function openTeams(t: Test) {
  const recipe = await openRecipe(t, 'Teams with roles');
  const { stranger, admin, made, newUser, user } = recipe;
  const [visitor, foreign] = [await user(), await user()];
  const [guest, member, owner] = [await user(), await user(), await user()];
  const found = async (name: string, by: Caller) => {
    const teamId = await made('/teams', { name }, by);
    return [teamId, await made('/memberships', { teamId, userId: by.id, role: 'owner' }, by)] as const;
  };
  const [[team], [other, outsider]] = [await found('Roof', owner), await found('Vault', foreign)];
  const join = (role: string, userId: string) => made('/memberships', { teamId: team, userId, role }, owner);
  const memberships = { guest: await join('guest', guest.id), member: await join('member', member.id) };
  const newProject = (teamId: string, by = admin) => made('/projects', { teamId, name: 'Project' }, by);
  const newIssue = (projectId: string, by = admin) => made('/issues', { projectId, title: 'A leak' }, by);
  const newComment = (issueId: string, by = admin) => made('/comments', { issueId, text: 'Drip' }, by);
  const [project, theirs] = [await newProject(team, member), await newProject(other, foreign)];
  const [issue, theirIssue] = [await newIssue(project, member), await newIssue(theirs, foreign)];
  await newComment(theirIssue, foreign);
  const comment = await newComment(issue, member);
  const names = {
    ...{ team, other, outsider, mate: memberships.guest, project, theirs, issue, comment, newUser },
    newMembership: async () => join('guest', await newUser()),
    newProject: () => newProject(team),
    newIssue: () => newIssue(project),
    newComment: () => newComment(issue, member),
  };
  const callers = { stranger, user: visitor, foreign, guest, member, owner, admin };
  return { ...recipe, ...names, callers, names, memberships };
}

t.test('teams with roles: what each caller may do', async (t) => {
  const { callers, names, admin } = await openTeams(t);
  await checkTable(
    t,
    callers,
    names,
    [
      // stranger, user, foreign, guest, member, owner, admin
      ['GET /teams/:team', 401, 404, 404, 200, 200, 200, 200],
      ['GET /teams', 401, 0, 1, 1, 1, 1, 2],
      ['GET /teams/:team/memberships', 401, 404, 404, 3, 3, 3, 3],
      ['GET /memberships', 401, 0, 1, 3, 3, 3, 4],
      ['GET /projects', 401, 0, 1, 1, 1, 1, 2],
      ['GET /issues', 401, 0, 1, 1, 1, 1, 2],
      ['GET /issues?filter[project][team][name]=Roof', 401, 0, 0, 1, 1, 1, 1],
      ['GET /issues?search=leak&page=1', 401, 0, 1, 1, 1, 1, 2],
      ['GET /issues?group=status', 401, 0, 1, 1, 1, 1, 1],
      ['GET /comments', 401, 0, 1, 1, 1, 1, 2],
      ['GET /comments?filter[issue][title]=A%20leak', 401, 0, 1, 1, 1, 1, 2],
      ['GET /users?filter[email][prefix]=user&limit=100', 401, 1, 1, 1, 1, 1, 5],
      ['EVENTS memberships', 401, 0, 1, 3, 3, 3, 4],
      ['EVENTS issues', 401, 0, 1, 1, 1, 1, 2],
      ['EVENTS comments', 401, 0, 1, 1, 1, 1, 2],
      ['POST /teams {"name":"New"}', 401, 201, 201, 201, 201, 201, 201],
      ['POST /teams {"name":"New","creatorId":":newUser"}', 401, 400, 400, 400, 400, 400, 400],
      ['PATCH /teams/:team {"name":"Roof"}', 401, 404, 404, 403, 403, 200, 200],
      [
        'POST /memberships {"teamId":":team","userId":":newUser","role":"member"}',
        ...[401, 422, 422, 403, 403, 201, 201],
      ],
      ['PATCH /memberships/:newMembership {"role":"member"}', 401, 404, 404, 403, 403, 200, 200],
      ['DELETE /memberships/:newMembership', 401, 404, 404, 403, 403, 204, 204],
      ['POST /projects {"teamId":":team","name":"P"}', 401, 422, 422, 403, 201, 201, 201],
      ['PATCH /projects/:newProject {"name":"P"}', 401, 404, 404, 403, 200, 200, 200],
      ['PATCH /projects/:newProject {"teamId":":other"}', 401, 404, 404, 403, 400, 400, 400],
      ['DELETE /projects/:newProject', 401, 404, 404, 403, 403, 204, 204],
      ['POST /issues {"projectId":":project","title":"I"}', 401, 422, 422, 403, 201, 201, 201],
      ['POST /projects/:project/issues {"title":"I"}', 401, 404, 404, 403, 201, 201, 201],
      ['PATCH /issues/:newIssue {"status":"closed"}', 401, 404, 404, 403, 200, 200, 200],
      ['PATCH /issues/:newIssue {"authorId":":newUser"}', 401, 404, 404, 403, 400, 400, 400],
      ['PATCH /issues/:newIssue {"assigneeId":":mate"}', 401, 404, 404, 403, 200, 200, 200],
      ['PATCH /issues/:newIssue {"assigneeId":":outsider"}', 401, 404, 404, 403, 422, 422, 200],
      ['DELETE /issues/:newIssue', 401, 404, 404, 403, 403, 204, 204],
      ['POST /comments {"issueId":":issue","text":"C"}', 401, 422, 422, 403, 201, 201, 201],
      ['PATCH /comments/:comment {"text":"C"}', 401, 404, 404, 403, 200, 403, 200],
      ['DELETE /comments/:newComment', 401, 404, 404, 403, 204, 204, 204],
    ],
    admin,
  );
});

t.test('teams with roles: the first owner, the last one, and those who leave', async (t) => {
  const { callers, made, newUser, memberships, team, issue } = await openTeams(t);
  const { user, guest, member, owner, foreign } = callers;
  const own = await made('/teams', { name: 'New' }, user);
  const join = (by: Caller, teamId: string, role: string, userId = by.id) =>
    by.call('POST', '/memberships', { teamId, userId, role });
  t.equal((await join(user, own, 'member')).status, 403, 'the first member is an owner');
  t.equal((await join(user, own, 'owner', await newUser())).status, 403, 'and the creator');
  t.equal((await join(foreign, own, 'owner')).status, 422, 'the team of another user');
  const created = await join(user, own, 'owner');
  t.equal(created.status, 201);
  t.equal((await join(user, own, 'owner', await newUser())).status, 201, 'an owner adds others');
  const path = `/memberships/${created.json.id}`;
  t.equal((await user.call('PATCH', path, { role: 'member' })).status, 403, 'no owner demotes itself');
  t.equal((await user.call('DELETE', path)).status, 403);
  const { json } = await user.call('GET', `/teams/${own}/memberships?filter[userId][ne]=${user.id}&page=1`);
  t.equal((await user.call('DELETE', `/memberships/${json.data[0].id}`)).status, 204);

  t.equal((await guest.call('PATCH', `/memberships/${memberships.guest}`, { role: 'owner' })).status, 403);
  t.equal((await member.call('PATCH', `/memberships/${memberships.member}`, { role: 'owner' })).status, 403);
  for (const [method, ...expected] of [
    ['PATCH', 0, 1, 1],
    ['DELETE', 0, 0, 1],
  ] as const)
    for (const [at, by] of [guest, member, owner].entries()) {
      const operation = { method, path: `/issues/${issue}`, ...(method === 'PATCH' ? { body: {} } : {}) };
      const operations = [operation, { method: 'GET', path: '/issues/none' }];
      const { json: failed } = await by.call('POST', '/batch', { operations });
      t.match(failed, {
        error: {
          code: ['ACCESS_DENIED', 'NOT_FOUND'][expected[at]!],
          details: { operation: expected[at] },
        },
      });
    }
  t.match(await owner.call('GET', `/issues/${issue}`), { status: 200, json: { _version: 1 } });
  t.equal((await member.call('DELETE', `/memberships/${memberships.member}`)).status, 204);
  t.equal((await member.call('GET', `/issues/${issue}`)).status, 404);
  const last = (await member.call('GET', '/events?types=memberships.deleted')).json.data.at(-1);
  t.match(last, { subject: `/memberships/${memberships.member}` }, 'who leaves is notified');
  t.equal((await owner.call('DELETE', `/teams/${team}`)).status, 204);
  t.equal((await owner.call('GET', `/issues/${issue}`)).status, 404);
});

t.test('a blog with drafts: what each caller may do', async (t) => {
  const { stranger, user, admin, made } = await openRecipe(t, 'A blog with drafts');
  const [author, reader, editor] = [await user(), await user(), await user('editor')];
  const article = async (title: string, publishedAt?: string) => {
    const id = await made('/articles', { title, text: 'Tar' }, author);
    if (publishedAt) await admin.call('PATCH', `/articles/${id}`, { publishedAt });
    return id;
  };
  const PAST = '2026-01-01T00:00:00Z';
  const names = {
    draft: await article('Draft'),
    public: await article('Public', PAST),
    future: await article('Future', '9026-01-01T00:00:00Z'),
    newDraft: () => article('New'),
    newPublic: () => article('New', PAST),
  };
  await checkTable(
    t,
    { stranger, reader, author, editor, admin },
    names,
    [
      ['GET /articles/:public', 200, 200, 200, 200, 200],
      ['GET /articles/:draft', 404, 404, 200, 200, 200],
      ['GET /articles/:future', 404, 404, 200, 200, 200],
      ['GET /articles', 1, 1, 3, 3, 3],
      ['GET /articles?search=tar&page=1', 1, 1, 3, 3, 3],
      ['GET /articles?filter[title]=Draft', 0, 0, 1, 1, 1],
      ['GET /articles?filter[publishedAt][null]=true', 0, 0, 1, 1, 1],
      ['EVENTS articles', 401, 1, 3, 3, 3],
      ['POST /articles {"title":"A"}', 401, 201, 201, 201, 201],
      [`POST /articles {"title":"A","publishedAt":"${PAST}"}`, 401, 403, 403, 201, 201],
      ['PATCH /articles/:draft {"title":"Draft 2"}', 401, 404, 200, 200, 200],
      [`PATCH /articles/:newDraft {"publishedAt":"${PAST}"}`, 401, 404, 403, 200, 200],
      ['PATCH /articles/:public {"title":"Public 2"}', 401, 403, 403, 200, 200],
      ['DELETE /articles/:newDraft', 401, 404, 204, 204, 204],
      ['DELETE /articles/:newPublic', 401, 403, 403, 204, 204],
    ],
    admin,
  );
});

t.test('to-do lists: what each caller may do', async (t) => {
  const { stranger, user, admin, made } = await openRecipe(t, 'To-do lists');
  const [owner, other] = [await user(), await user()];
  const todo = await made('/todos', { text: 'Order tiles' }, owner);
  const newTodo = () => made('/todos', { text: 'New' }, owner);
  await checkTable(
    t,
    { stranger, other, owner, admin },
    { todo, newTodo, owner: owner.id },
    [
      ['GET /todos/:todo', 401, 404, 200, 404],
      ['GET /todos', 401, 0, 1, 0],
      ['GET /todos?filter[text]=Order%20tiles', 401, 0, 1, 0],
      ['GET /todos?group=done', 401, 0, 1, 0],
      ['EVENTS todos', 401, 0, 1, 0],
      ['PATCH /todos/:todo {"done":true}', 401, 404, 200, 404],
      ['DELETE /todos/:newTodo', 401, 404, 204, 404],
      ['POST /todos {"text":"Pay me","ownerId":":owner"}', 401, 400, 400, 400],
      ['POST /todos {"text":"Mine"}', 401, 201, 201, 403],
    ],
    owner,
  );
});

t.test('an organisation: what each caller may do', async (t) => {
  const { stranger, user, keyed, made } = await openRecipe(t, 'An organisation');
  const hr = await keyed('hr', ['hr', 'users:read', 'positions:write', 'reviews:write', 'events:read']);
  const two = async () => [await user(), await user()] as const;
  const levels = [...(await two()), ...(await two()), ...(await two())] as const;
  let [managerId, position] = ['', ''];
  for (const { id: userId } of levels) {
    managerId = position;
    position = await made('/positions', { title: 'P', userId, ...(managerId ? { managerId } : {}) }, hr);
  }
  const [fifth, fourth, third, second, first, own] = levels;
  const newReview = () => made('/reviews', { positionId: position, text: 'Steady' }, hr);
  const review = await made('/reviews', { positionId: position, text: 'Steady', salary: 5 }, first);
  await checkTable(
    t,
    { stranger, own, first, second, third, fourth, fifth, hr },
    { review, position, newReview },
    [
      ['GET /positions', 401, 6, 6, 6, 6, 6, 6, 6],
      ['EVENTS positions', 401, 6, 6, 6, 6, 6, 6, 6],
      ['GET /reviews/:review', 401, 200, 200, 200, 200, 200, 404, 200],
      ['GET /reviews', 401, 1, 1, 1, 1, 1, 0, 1],
      ['GET /reviews?filter[salary][gte]=1', 401, 1, 1, 1, 1, 1, 0, 1],
      ['EVENTS reviews', 401, 1, 1, 1, 1, 1, 0, 1],
      ['PATCH /reviews/:review {"text":"S"}', 401, 403, 200, 403, 403, 403, 404, 200],
      ['POST /reviews {"positionId":":position","text":"N"}', 401, 403, 201, 403, 403, 403, 403, 201],
      ['DELETE /reviews/:newReview', 401, 403, 403, 403, 403, 403, 404, 204],
      ['PATCH /positions/:position {"title":"Q"}', 401, 403, 403, 403, 403, 403, 403, 200],
    ],
    hr,
  );
});

t.test('private fields: what each caller may do', async (t) => {
  const { stranger, user, admin, made } = await openRecipe(t, 'Private fields');
  const [owner, other] = [await user(), await user()];
  const body = { name: 'Ann', about: 'Roofs', email: 'ann@home.example', phone: '555 0100' };
  const profile = await made('/profiles', body, owner);
  const newProfile = async (caller: Caller) => {
    if (caller !== owner) return made('/profiles', { name: 'New' });
    await owner.call('DELETE', `/profiles/${profile}`);
    return made('/profiles', body, owner);
  };
  for (const [by, shown] of [
    [other, { name: 'Ann', about: 'Roofs' }],
    [owner, { ...body, userId: owner.id }],
    [admin, { ...body, userId: owner.id }],
  ] as const) {
    const { id, created_at, updated_at, _version, _links, ...fields } = (
      await by.call('GET', `/profiles/${profile}`)
    ).json;
    t.same(fields, shown);
    const events = (await by.call('GET', '/events?types=profiles.*')).text;
    t.equal(events.includes('555 0100'), by !== other, 'events show no more');
    const csv = await by.call('GET', '/profiles', undefined, { Accept: 'text/csv' });
    t.equal(csv.text.includes('555 0100'), by !== other, 'nor do spreadsheets');
  }
  await checkTable(
    t,
    { stranger, other, owner, admin },
    { profile, newProfile },
    [
      ['GET /profiles', 401, 1, 1, 1],
      ['GET /profiles?filter[phone][prefix]=555', 401, 0, 1, 1],
      ['GET /profiles?filter[email]=ann@home.example', 401, 0, 1, 1],
      ['GET /profiles?filter[phone][null]=true', 401, 1, 0, 0],
      ['EVENTS profiles', 401, 1, 1, 1],
      ['PATCH /profiles/:profile {"about":"Tiles"}', 401, 403, 200, 200],
      ['PATCH /profiles/:profile {"phone":"555 0100"}', 401, 403, 200, 200],
      ['DELETE /profiles/:newProfile', 401, 403, 204, 204],
      ['POST /profiles {"name":"Me","phone":"1"}', 401, 201, 201, 201],
      ['POST /profiles {"name":"Me again"}', 401, 409, 409, 201],
    ],
    admin,
  );
});

t.test('machines: what each caller may do', async (t) => {
  const key = await signingKey('k1');
  const issuer = await testIssuer(t, key);
  const env = { AUTH: 'api-key, bearer', ISSUER: issuer.url, AUDIENCE };
  const { as, stranger, user, admin, made } = await openRecipe(t, 'Machines', env);
  const token = async (more: Record<string, unknown>): Promise<Caller> => ({
    id: String(more.sub),
    call: as({ authorization: `Bearer ${await sign(key, claims(issuer.url, more))}` }),
  });
  const meterScopes = 'meters:read readings:write events:read';
  const machine = (id: string) => token({ sub: id, client_id: id, scope: meterScopes });
  const [meter, other] = [await machine('meter-7'), await machine('meter-8')];
  const scope = 'meters:read readings:read events:read';
  const analyst = await token({ sub: 'ada', sites: ['north', 'west'], scope });
  const elsewhere = await token({ sub: 'bob', sites: ['east'], scope });
  const meterId = await made('/meters', { site: 'north', clientId: 'meter-7' });
  await made('/meters', { site: 'south', clientId: 'meter-8' });
  const newReading = () => made('/readings', { meterId, value: 3.5 });
  const reading = await newReading();
  await checkTable(
    t,
    { stranger, user: await user(), meter, other, analyst, elsewhere, admin },
    { meter: meterId, reading, newReading },
    [
      ['GET /meters', 401, 0, 1, 1, 1, 0, 2],
      ['GET /meters?filter[site]=south', 401, 0, 0, 1, 0, 0, 1],
      ['GET /readings/:reading', 401, 404, 200, 404, 200, 404, 200],
      ['GET /readings', 401, 0, 1, 0, 1, 0, 1],
      ['GET /readings?filter[meter][site]=north', 401, 0, 1, 0, 1, 0, 1],
      ['EVENTS readings', 401, 0, 1, 0, 1, 0, 1],
      ['POST /readings {"meterId":":meter","value":1}', 401, 422, 201, 422, 403, 403, 201],
      ['PATCH /readings/:reading {"value":0}', 401, 404, 403, 404, 403, 403, 200],
      ['DELETE /readings/:newReading', 401, 404, 403, 404, 403, 403, 204],
    ],
    admin,
  );
});
