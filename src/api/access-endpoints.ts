import { secretReply } from '../actions/secret-reply.js';
import { type Principal, scopesOf } from '../auth/principal.js';
import { userScopes } from '../auth/user-scopes.js';
import { AUTH_SQL } from '../db/core-statements.js';
import type { Db } from '../db/db.js';
import { invalidQuery } from '../errors/input-errors.js';
import { splitVersion } from '../http/api-version.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import { type Explanation, explain } from '../policy/explain.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import { parseUuid } from '../uuid.js';
import { arrayOf, json, objectOf, TEXT, TEXT_OR_NULL } from './doc.js';
import { at, type Endpoint } from './endpoint.js';

/** The services that the explanation of access rules runs with. */
export interface AccessServices {
  readonly db: Db;
  readonly collections: readonly ScopedCollection[];
}

const EXPLANATION = objectOf({
  collection: TEXT,
  id: TEXT_OR_NULL,
  access: arrayOf(
    objectOf({
      verb: { type: 'string', enum: ['read', 'create', 'update', 'delete'] },
      permitted: { type: ['boolean', 'null'], description: 'Null: the record decides.' },
      fields: { type: ['array', 'null'], items: TEXT, description: 'Null: all.' },
      grants: arrayOf(
        objectOf({
          grant: { type: 'string', description: 'A JSON Pointer into the declaration.' },
          holds: { type: ['boolean', 'null'] },
          reason: TEXT_OR_NULL,
          failed: { type: 'array', items: {}, description: 'Conditions that do not hold.' },
        }),
      ),
    }),
  ),
});

/** Explains the access rules for a caller to an operator. */
export const ACCESS: Endpoint<AccessServices> = {
  ...at('GET', '/access', { scopes: ['admin'] }),
  homeLink: { name: 'access', position: 14 },
  doc: {
    id: 'explainAccess',
    tag: 'service',
    summary: 'Explain what access rules permit a caller to do with a record',
    success: {
      200: json('The grants of each verb, and why some do not hold.', EXPLANATION, ['Cache-Control']),
    },
    errors: ['INVALID_QUERY'],
    query: {
      path: { type: 'string', description: 'The path of a record or of a collection: `/issues/<id>`.' },
      as: { type: 'string', description: 'The subject of the caller: the id of a user.' },
      scopes: {
        type: 'string',
        description: 'The scopes of the caller, separated by spaces; by default those of the user.',
      },
    },
  },
  run: showAccess,
};

/** Explains the rules for the caller `as` and the record at `path`: 200, 400. */
async function showAccess(services: AccessServices, { query, run }: Request): Promise<Reply> {
  const given = query.parameters;
  const [path, subject] = [given.get('path'), given.get('as')];
  if (path === null) throw invalidQuery('path', 'must be the path of a record or of a collection');
  if (subject === null) throw invalidQuery('as', 'must be the subject of a caller');
  const caller = { subject, scopes: given.get('scopes') ?? undefined };
  return secretReply(200, await explanationOf(services, path, caller, run));
}

/** The explanation of a path for a caller as the operator names it. Without scopes, a user has its own. Throws 400 for a path that is not that of a record or of a collection. */
export async function explanationOf(
  { db, collections }: AccessServices,
  path: string,
  { subject, scopes }: { readonly subject: string; readonly scopes: string | undefined },
  run = db.run,
): Promise<{
  readonly collection: string;
  readonly id: string | null;
  readonly access: readonly Explanation[];
}> {
  const [, name = '', id, ...rest] = splitVersion(path.split('?', 1)[0]!).path.split('/');
  const scoped = collections.find(({ resource }) => resource.name === name);
  const record = id === undefined || id === '' ? undefined : parseUuid(id);
  if (!scoped || rest.length > 0 || (id && record === undefined))
    throw invalidQuery(
      'path',
      `must be the path of a record or of a collection, such as /${name || 'issues'}/<id>`,
    );
  const user = parseUuid(subject);
  const own =
    scopes === undefined && user ? (await run(AUTH_SQL.scopes_of_user, [user]))[0]?.scopes : undefined;
  const principal: Principal = {
    subject: user ?? subject,
    scopes: scopes === undefined ? userScopes(own ?? '') : scopesOf(scopes),
    scheme: 'session',
    expiresAt: undefined,
  };
  const access = await explain(scoped, record, principal, run === db.run ? undefined : run);
  return { collection: name, id: record ?? null, access };
}
