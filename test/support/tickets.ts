import { declare } from './collections.js';
import { makeKey } from './credentials.js';
import { declared, reference, text } from './declared.js';
import { testService } from './service.js';
import type { Test } from './test.js';

const string = { type: 'string' };
const WRITTEN = { value: '$now', on: 'write' };

export const FILES = {
  'projects.json': declared({ name: string }, {}, { title: 'Project' }),
  'tickets.json': declared(
    {
      title: { type: 'string', maxLength: 100, 'x-unique': true },
      status: string,
      projectId: { type: 'string', 'x-references': 'projects', 'x-immutable': true },
      kind: { type: 'string', 'x-normalize': ['trim', 'lower'], 'x-immutable': true },
      createdBy: { ...text, 'x-set': '$caller' },
      createdAt: { type: 'string', format: 'date-time', 'x-set': '$now' },
      changedBy: { type: 'string', 'x-set': { value: '$caller', on: 'write' } },
      changedAt: { ...text, format: 'date-time', 'x-set': WRITTEN },
    },
    { nested: true, ids: 'client' },
    { title: 'Ticket', required: ['title', 'projectId'] },
  ),
  'comments.json': declared(
    { text: string, authorId: { ...reference('users', 'null'), 'x-set': '$caller' } },
    {},
    { title: 'Comment' },
  ),
};

/** A service with tickets, most of whose fields clients do not set. */
export async function ticketService(t: Test, env: Record<string, string> = {}) {
  const COLLECTIONS = declare(t, FILES);
  const opened = await testService(t, { COLLECTIONS, MIGRATE: 'auto', ...env });
  const as = async (subject: string, ...scopes: string[]) => {
    const given = scopes.length > 0 ? { subject, scopes } : { subject };
    const { key } = await makeKey(opened.db, given);
    const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      opened.send(method, path, { body, headers: { 'x-api-key': key, ...headers } });
    return Object.assign(send, { key });
  };
  return { ...opened, as, COLLECTIONS };
}

/** A service whose callers are known, with two of them and a project. */
export async function callers(t: Test, env: Record<string, string> = {}) {
  const opened = await ticketService(t, { AUTH: 'api-key', ...env });
  const [ann, bob] = [await opened.as('ann'), await opened.as('bob')];
  const projectId: string = (await ann('POST', '/projects', { name: 'one' })).json.id;
  return { ...opened, ann, bob, projectId };
}

export const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
/** The values that the service sets when ann creates a ticket, and when bob changes it. */
export const CREATED = { createdBy: 'ann', changedBy: 'ann', createdAt: TIME, changedAt: TIME };
export const CHANGED = { createdBy: 'ann', changedBy: 'bob', createdAt: TIME, changedAt: TIME };
