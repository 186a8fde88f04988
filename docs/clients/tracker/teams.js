import { button, element, link, openForm } from './elements.js';
import { head, nameField, nameOf, nothing, remove, rename, showForm } from './parts.js';

const ROLES = [
  ['guest', 'Guest: reads'],
  ['member', 'Member: writes'],
  ['owner', 'Owner: manages'],
];

/** The teams of the user with their projects; `shown` are the elements, and `cursor` that of the events after the first list. */
export async function showNavigation(context, current) {
  const { data: teams, cursor } = await context.api.get('/teams?sort=name&limit=100');
  const projects = await context.api.list('/projects?sort=name&limit=100');
  const place = (record, path, className) => {
    const ariaCurrent = record.id === current ? 'page' : null;
    return element('li', {}, link(record.name, `#/${path}/${record.id}`, { className, ariaCurrent }));
  };
  const places = teams.flatMap((team) => [
    place(team, 'teams', 'place'),
    ...projects
      .filter(({ teamId }) => teamId === team.id)
      .map((project) => place(project, 'projects', 'place inner')),
  ]);
  return {
    shown: [element('ul', { className: 'places' }, places), button('New team', () => createTeam(context))],
    teams,
    cursor,
  };
}

/** The creator of a team becomes its first owner by a request of its own. */
function createTeam({ api, me, go }) {
  const submit = async (values) => {
    const { id } = await api.send('POST', '/teams', values);
    await api.send('POST', '/memberships', { teamId: id, userId: me, role: 'owner' });
    go(`/teams/${id}`);
  };
  openForm({ title: 'New team', fields: nameField(), action: 'Create', submit });
}

export async function showHome(_context, _id, _parameters, { teams }) {
  const text =
    teams.length === 0
      ? 'You are in no team. Create one, or let an owner add you.'
      : 'Choose a team or a project.';
  return [head('Your teams'), nothing(text)];
}

export async function showTeam(context, id) {
  const { api, act, me } = context;
  const path = `/teams/${id}`;
  const [team, members] = await Promise.all([
    api.get(path),
    api.list(`/teams/${id}/memberships?include=user&limit=100`),
  ]);
  const own = members.find(({ userId }) => userId === me);
  const [mayManage, mayDelete, mayCreate, mayLeave] = await Promise.all([
    api.may('PATCH', path, {}),
    api.may('DELETE', path),
    api.may('POST', '/projects', { teamId: id, name: 'A project' }),
    own !== undefined && api.may('DELETE', `/memberships/${own.id}`),
  ]);
  const leave = () => act(() => api.send('DELETE', `/memberships/${own.id}`));
  return [
    head(
      team.name,
      mayCreate && button('New project', () => createProject(context, id), 'primary'),
      mayManage && rename(context, path, team),
      mayDelete && remove(context, path, team.name, '/'),
      mayLeave && button('Leave', leave),
    ),
    element(
      'div',
      { className: 'head' },
      element('h2', { textContent: 'Members' }),
      mayManage && button('Add a member', () => act(() => addMember(context, id, members))),
    ),
    element(
      'ul',
      { className: 'rows', id: 'members' },
      members.map((member) => memberRow(context, member, mayManage && member !== own)),
    ),
  ];
}

function createProject({ api, go }, teamId) {
  const submit = async (values) => {
    const { id } = await api.send('POST', '/projects', { ...values, teamId });
    go(`/projects/${id}`);
  };
  openForm({ title: 'New project', fields: nameField(), action: 'Create', submit });
}

function memberRow({ api, act }, member, mayManage) {
  const name = nameOf(member, 'user');
  const path = `/memberships/${member.id}`;
  const role = element('select', { id: `role-${member.id}`, ariaLabel: `Role of ${name}` });
  role.append(...ROLES.map(([each, text]) => new Option(text, each, false, each === member.role)));
  role.onchange = () => act(() => api.send('PATCH', path, { role: role.value }, member));
  return element(
    'li',
    { className: 'row' },
    element('span', { className: 'title', textContent: name }),
    mayManage ? role : element('span', { className: 'dim', textContent: member.role }),
    mayManage && button('Remove', () => act(() => api.send('DELETE', path))),
  );
}

/** Offers the first hundred users by name. */
async function addMember(context, teamId, members) {
  const known = new Set(members.map(({ userId }) => userId));
  const users = (await context.api.list('/users?sort=name&limit=100')).filter(({ id }) => !known.has(id));
  showForm(context, {
    title: 'Add a member',
    fields: [
      { name: 'userId', label: 'User', options: users.map(({ id, name }) => [id, name]) },
      { name: 'role', label: 'Role', options: ROLES, value: 'member' },
    ],
    action: 'Add',
    submit: (values) => context.api.send('POST', '/memberships', { ...values, teamId }),
  });
}
