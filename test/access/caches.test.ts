import t from '../support/test.js';
import { words } from '../support/words.js';
import { openTracker } from './open-tracker.js';

const TYPES = ['application/json', 'text/html', 'text/csv', 'application/x-ndjson'];

t.test('no cache of several callers has a response, and no validator of one confirms another', async (t) => {
  const { operator, made, user, stranger } = await openTracker(t);
  const [owner, member, outsider] = await Promise.all(
    ['owner', 'member', 'outsider'].map((name) => user(name)),
  );
  const teamId = await made('/teams', { name: 'One', ownerId: owner!.id });
  await made('/memberships', { teamId, userId: owner!.id, role: 'owner' });
  await made('/memberships', { teamId, userId: member!.id, role: 'member' });
  const projectId = await made('/projects', { title: 'Roof', teamId });
  const issue = await made('/issues', { title: 'Leak', projectId, secret: 'zebra' });
  const callers = [operator, owner!.call, member!.call, outsider!.call, stranger];
  const paths = [
    ...words('/issues?page=1 /issues?group=secret /api/v2/issues /openapi.json /'),
    `/issues/${issue}`,
    `/issues/${issue}?include=project`,
    `/projects/${projectId}/issues`,
  ];
  for (const path of paths)
    for (const accept of TYPES) {
      const shown = await Promise.all(callers.map((call) => call('GET', path, undefined, { accept })));
      for (const [at, { status, headers }] of shown.entries())
        t.match(headers['cache-control'], /^(?:private|no-store)/, `${path} ${accept} ${at}: ${status}`);
      for (const { headers, text } of shown) {
        if (headers.etag === undefined) continue;
        for (const [at, call] of callers.entries()) {
          const fields = { accept, 'if-none-match': headers.etag as string };
          const { status } = await call('GET', path, undefined, fields);
          const isEqual = shown[at]!.status === 200 && shown[at]!.text === text;
          const isPage = accept === 'text/html';
          if (!isEqual && !isPage) t.equal(status, shown[at]!.status, `${path} ${accept} to caller ${at}`);
          t.ok(
            status !== 304 || shown[at]!.status === 200,
            `${path} ${accept}: nothing that caller ${at} cannot read`,
          );
        }
      }
    }
});
