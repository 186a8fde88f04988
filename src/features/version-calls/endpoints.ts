import { forwardReply } from '../../actions/forward-list.js';
import { timeOf } from '../../actions/secret-reply.js';
import { json } from '../../api/doc.js';
import { at, type Endpoint } from '../../api/endpoint.js';
import { arrayOf, listOf, objectOf, TEXT, TIME } from '../../api/schema.js';
import { foreignCursor } from '../../errors/input-errors.js';
import type { Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import type { Caller, VersionCalls } from './version-calls.js';

const VERSIONS_PATH = '/admin/versions';
const PAGE = 100;

export const ENDPOINTS: readonly Endpoint<VersionCalls>[] = [
  {
    ...at('GET', VERSIONS_PATH, { scopes: ['admin'] }),
    homeLink: { name: 'versions', position: 9 },
    doc: {
      id: 'listVersionCalls',
      tag: 'versions',
      summary: 'List who calls a version that retires, by version and principal',
      success: { 200: json('Up to 100 callers.', 'VersionCallsList', ['Cache-Control', 'Link']) },
      errors: ['INVALID_CURSOR'],
      query: { after: { type: 'string', description: 'The cursor in `links.next` of the page before.' } },
    },
    schemas: () => ({
      VersionCalls: {
        ...objectOf({
          version: TEXT,
          principal: TEXT,
          last_address: TEXT,
          last_called_at: TIME,
          days: arrayOf(
            objectOf({ day: { type: 'string', format: 'date' }, calls: { type: 'integer', minimum: 1 } }),
          ),
        }),
        description: 'A caller of a version. `other`: all beyond the number that a process remembers.',
      },
      VersionCallsList: listOf('VersionCalls'),
    }),
    run: listVersionCalls,
  },
];

/** Lists who has called a version that retires, by version and principal, after `?after=<cursor>`: 200, 400. */
async function listVersionCalls(calls: Pick<VersionCalls, 'list'>, request: Request): Promise<Reply> {
  const after = new URLSearchParams(request.query).get('after');
  const found = await calls.list(after === null ? ['', ''] : readCursor(after), PAGE + 1);
  const page = found.slice(0, PAGE);
  const next = found.length > PAGE ? `${VERSIONS_PATH}?after=${cursorAt(page.at(-1)!)}` : null;
  return forwardReply(request, { data: page.map(shown), limit: PAGE, next });
}

const cursorAt = ({ version, principal = '' }: Caller) =>
  Buffer.from(JSON.stringify([version, principal])).toString('base64url');

function readCursor(text: string): [version: string, principal: string] {
  const [version, principal, ...rest] = parsed(text);
  const isValid = [version, principal].every((part) => typeof part === 'string' && !part.includes('\0'));
  if (!isValid || rest.length > 0) throw foreignCursor();
  return [version as string, principal as string];
}

function parsed(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

const shown = ({ version, principal = 'other', address, calledAt, days }: Caller) => ({
  version,
  principal,
  last_address: address,
  last_called_at: timeOf(calledAt),
  days,
});
