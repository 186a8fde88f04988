import { button, element, link } from './elements.js';
import { badge, crumbs, head, nameOf, nothing, remove, rename, showForm, timeOf } from './parts.js';

const ISSUES_ON_PAGE = 25;

const fieldsOf = ({ title, text } = {}) => [
  { name: 'title', label: 'Title', value: title },
  { name: 'text', label: 'Text', value: text, rows: 8, maxLength: 20_000, isOptional: true },
];

export async function showProject(context, id, parameters) {
  const { api, go } = context;
  const path = `/projects/${id}`;
  const status = parameters.get('status') ?? 'open';
  const search = parameters.get('search') ?? '';
  const page = Number(parameters.get('page') ?? 1);
  const selected = new URLSearchParams({ 'filter[projectId]': id, ...(search && { search }) });
  const query = new URLSearchParams(selected);
  if (status !== 'all') query.set('filter[status]', status);
  for (const [name, value] of Object.entries({
    include: 'author,comments.count',
    limit: ISSUES_ON_PAGE,
    page,
  }))
    query.set(name, value);
  const [project, issues, groups, mayCreate, mayRename, mayDelete] = await Promise.all([
    api.get(`${path}?include=team`),
    api.get(`/issues?${query}`),
    api.list(`/issues?${selected}&group=status`),
    api.may('POST', '/issues', { projectId: id, title: 'An issue' }),
    api.may('PATCH', path, {}),
    api.may('DELETE', path),
  ]);
  const countOf = (name) => groups.find((group) => group.status === name)?.count ?? 0;
  const [open, closed] = [countOf('open'), countOf('closed')];
  const address = (changes) =>
    `/projects/${id}?${new URLSearchParams({ status, ...(search && { search }), ...changes })}`;
  const tab = ([name, count]) => {
    const ariaCurrent = name === status ? 'true' : null;
    return link(`${name} ${count}`, `#${address({ status: name })}`, { className: 'tab', ariaCurrent });
  };
  const find = (event) => {
    event.preventDefault();
    // The user may have chosen another status, whose list is not shown yet.
    const chosen = new URLSearchParams(location.hash.split('?')[1]).get('status') ?? status;
    go(address({ status: chosen, search: event.target.elements.search.value }));
  };
  const create = () =>
    showForm(context, {
      title: 'New issue',
      fields: fieldsOf(),
      action: 'Create',
      submit: (values) => api.send('POST', '/issues', { ...values, projectId: id }),
    });
  const field = { id: `search-${id}`, name: 'search', type: 'search', value: search, maxLength: 100 };
  return [
    crumbs([project._included.team.name, `#/teams/${project.teamId}`]),
    head(
      project.name,
      mayCreate && button('New issue', create, 'primary'),
      mayRename && rename(context, path, project),
      mayDelete && remove(context, path, project.name, `/teams/${project.teamId}`),
    ),
    element(
      'div',
      { className: 'head' },
      element(
        'nav',
        { className: 'tabs', ariaLabel: 'Status' },
        Object.entries({ open, closed, all: open + closed }).map(tab),
      ),
      element(
        'form',
        { onsubmit: find, role: 'search' },
        element('input', { ...field, placeholder: 'Search titles', ariaLabel: 'Search titles' }),
      ),
    ),
    issues.data.length === 0
      ? nothing('No issues.')
      : element('ul', { className: 'rows', id: 'issues' }, issues.data.map(issueRow)),
    element(
      'nav',
      { className: 'actions', ariaLabel: 'Pages' },
      page > 1 && link('Newer', `#${address({ page: page - 1 })}`),
      page < issues.meta.totalPages && link('Older', `#${address({ page: page + 1 })}`),
    ),
  ];
}

const originOf = (issue) =>
  element(
    'span',
    { className: 'dim' },
    `#${issue.number} by ${nameOf(issue, 'author')}, `,
    timeOf(issue.created_at),
  );

function issueRow(issue) {
  const comments = issue._included['comments.count'];
  return element(
    'li',
    { className: 'row' },
    badge(issue.status),
    element('div', { className: 'title' }, link(issue.title, `#/issues/${issue.id}`), originOf(issue)),
    comments > 0 && nothing(comments === 1 ? '1 comment' : `${comments} comments`),
  );
}

export async function showIssue(context, id) {
  const { api, act, me } = context;
  const path = `/issues/${id}`;
  const [issue, comments] = await Promise.all([
    api.get(`${path}?include=author,project.team`),
    api.list(`${path}/comments?include=author&limit=100`),
  ]);
  const [mayEdit, mayDelete, mayComment] = await Promise.all([
    api.may('PATCH', path, {}),
    api.may('DELETE', path),
    api.may('POST', '/comments', { issueId: id, text: 'A comment' }),
  ]);
  const { project } = issue._included;
  const isOpen = issue.status === 'open';
  const edit = () =>
    showForm(context, {
      title: 'Edit the issue',
      fields: fieldsOf(issue),
      action: 'Save',
      submit: (values) => api.send('PATCH', path, values, issue),
    });
  const turn = () => act(() => api.send('PATCH', path, { status: isOpen ? 'closed' : 'open' }, issue));
  // A writer of comments may delete its own, and who may delete the issue all of them.
  const mayDeleteComment = ({ authorId }) => mayDelete || (mayComment && authorId === me);
  return [
    crumbs(
      [project._included.team.name, `#/teams/${project.teamId}`],
      [project.name, `#/projects/${project.id}`],
    ),
    head(
      issue.title,
      mayEdit && button('Edit', edit),
      mayEdit && button(isOpen ? 'Close' : 'Reopen', turn, isOpen ? 'primary' : ''),
      mayDelete && remove(context, path, `#${issue.number}`, `/projects/${project.id}`),
    ),
    element('p', { className: 'actions' }, badge(issue.status), originOf(issue)),
    element('p', { className: 'text', textContent: issue.text ?? '' }),
    element('h2', { textContent: 'Comments' }),
    comments.length === 0
      ? nothing('No comments.')
      : element(
          'ul',
          { className: 'stack', id: 'comments' },
          comments.map((comment) => commentRow(context, comment, mayDeleteComment(comment))),
        ),
    ...(mayComment ? [commentForm(context, id)] : []),
  ];
}

function commentRow({ api, act }, comment, mayDelete) {
  const name = nameOf(comment, 'author');
  return element(
    'li',
    { className: 'comment' },
    element(
      'div',
      { className: 'head' },
      element('span', { className: 'dim' }, `${name}, `, timeOf(comment.created_at)),
      mayDelete && button('Delete', () => act(() => api.send('DELETE', `/comments/${comment.id}`)), 'danger'),
    ),
    element('p', { className: 'text', textContent: comment.text }),
  );
}

function commentForm({ api, act }, issueId) {
  const input = element('textarea', { id: `comment-${issueId}`, rows: 3, maxLength: 5000, required: true });
  const add = (event) => {
    event.preventDefault();
    act(async () => {
      await api.send('POST', '/comments', { issueId, text: input.value });
      // An event may have replaced the form meanwhile.
      document.getElementById(input.id).value = '';
    });
  };
  return element(
    'form',
    { className: 'stack', onsubmit: add },
    element('label', {}, 'Comment', input),
    element('button', { className: 'primary', textContent: 'Add' }),
  );
}
