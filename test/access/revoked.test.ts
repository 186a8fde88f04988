import type { JsonObject } from '../../src/json.js';
import { type Call, callsWith, making } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { makeKey } from '../support/credentials.js';
import { ADMIN } from '../support/declared.js';
import { freshService, type ServiceResponse, undeclaredDatabase } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { times } from '../support/thorough.js';
import { until } from '../support/until.js';
import { TEAM_TRACKER } from './team-tracker.js';

const READERS = times(16, 32);
/** Reads of each reader after the response to the revocation. */
const READS_AFTER = times(5, 10);
const TITLE = 'Quarterly robbery';

async function open(t: Test, declarations = TEAM_TRACKER, databaseUrl?: string) {
  const DATABASE_URL = databaseUrl ?? (await undeclaredDatabase(t));
  const env = { COLLECTIONS: declare(t, declarations), AUTH: 'api-key', DATABASE_URL };
  const service = await freshService(t, env);
  return { service, as: (key: string): Call => callsWith(service, { 'X-API-Key': key }) };
}

/** A team with an owner, a member and an issue, which the member reads in every form. */
async function withTeam(t: Test) {
  const { service, as } = await open(t);
  const operator = as((await makeKey(service.db)).key);
  const made = making(t, operator);
  const user = async (name: string) => {
    const id = await made('/users', { name, email: `${name}@example.com` });
    const { key } = await makeKey(service.db, { subject: id, scopes: ['self'] });
    return { id, key, call: as(key) };
  };
  const [ann, bob] = [await user('ann'), await user('bob')];
  const teamId = await made('/teams', { name: 'One', ownerId: ann.id });
  await made('/memberships', { teamId, userId: ann.id, role: 'owner' });
  const membership = await made('/memberships', { teamId, userId: bob.id, role: 'member' });
  const projectId = await made('/projects', { title: 'Roof', teamId });
  const issue = await made('/issues', { title: TITLE, projectId, assigneeId: bob.id });
  await made('/comments', { text: TITLE, issueId: issue, authorId: bob.id });
  const lines = { accept: 'application/x-ndjson' };
  const reads = (call: Call): readonly (() => Promise<ServiceResponse>)[] => [
    () => call('GET', `/issues/${issue}`),
    () => call('GET', '/issues?limit=50'),
    () => call('GET', `/projects/${projectId}/issues`),
    () => call('GET', `/teams/${teamId}/projects?include=issues`),
    () => call('GET', '/issues', undefined, lines),
    () => call('GET', '/api/v2/issues?sort=title'),
    () => call('GET', '/comments?search=robbery&include=issue'),
    () => call('QUERY', '/issues', { group: ['title'] }),
    () => call('GET', `/users/${bob.id}?include=issues`),
    () => call('POST', '/batch', [{ method: 'GET', path: '/issues?limit=5' }]),
  ];
  return { service, as, ann, bob, teamId, membership, issue, reads };
}

/** Reads with all readers while `revoke` runs: no read that begins after its response shows the record. */
async function requireNothingAfter(
  t: Test,
  reads: readonly (() => Promise<ServiceResponse>)[],
  revoke: () => Promise<void>,
): Promise<void> {
  let isRevoked = false;
  const shown = new Set<number>();
  const leaked: string[] = [];
  const reader = async (first: number) => {
    for (let at = first, left = READS_AFTER; left > 0; at++) {
      const isAfter = isRevoked;
      const place = at % reads.length;
      const { text } = await reads[place]!();
      const isShown = text.includes(TITLE);
      if (isShown && !isAfter) shown.add(place);
      if (isShown && isAfter) leaked.push(text);
      if (isAfter) left--;
    }
  };
  const running = Promise.all(Array.from({ length: READERS }, (_, first) => reader(first)));
  await until('each read has shown the record', () => shown.size, reads.length);
  await revoke();
  isRevoked = true;
  await running;
  t.same(leaked, []);
}

for (const end of ['membership', 'team'] as const)
  t.test(`nothing is read after the response that deletes the ${end}`, async (t) => {
    const { ann, bob, teamId, membership, reads } = await withTeam(t);
    const path = end === 'team' ? `/teams/${teamId}` : `/memberships/${membership}`;
    await requireNothingAfter(t, reads(bob.call), async () => {
      t.equal((await ann.call('DELETE', path)).status, 204);
    });
  });

t.test('nothing is read that a rule permits no longer, after the start with the new rule', async (t) => {
  const { service, bob, issue, reads } = await withTeam(t);
  const { access, ...options } = TEAM_TRACKER['issues.json']!['x-collection'] as JsonObject;
  const owners = (access as JsonObject[]).filter(({ can, fields }) => !(can === 'read' && fields));
  const declarations = {
    ...TEAM_TRACKER,
    'issues.json': { ...TEAM_TRACKER['issues.json'], 'x-collection': { ...options, access: owners } },
    'comments.json': {
      ...TEAM_TRACKER['comments.json'],
      'x-collection': { nested: 'issueId', access: [ADMIN] },
    },
  } as typeof TEAM_TRACKER;
  let call = bob.call;
  const following: Call = (...request) => call(...request);
  await requireNothingAfter(t, reads(following), async () => {
    const changed = await open(t, declarations, service.databaseUrl);
    call = changed.as(bob.key);
    t.equal((await call('GET', `/issues/${issue}`)).status, 404);
  });
});
