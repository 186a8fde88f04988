import { secretReply } from '../../actions/secret-reply.js';
import { arrayOf, json, objectOf, TEXT, TEXT_OR_NULL } from '../../api/doc.js';
import { at, type Endpoint } from '../../api/endpoint.js';
import { invalidQuery } from '../../errors/input-errors.js';
import type { Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import { type AccessServices, explanationOf } from './explain.js';

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
export const ENDPOINTS: readonly Endpoint<AccessServices>[] = [
  {
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
  },
];

/** Explains the rules for the caller `as` and the record at `path`: 200, 400. */
async function showAccess(services: AccessServices, { query, run }: Request): Promise<Reply> {
  const given = query.parameters;
  const [path, subject] = [given.get('path'), given.get('as')];
  if (path === null) throw invalidQuery('path', 'must be the path of a record or of a collection');
  if (subject === null) throw invalidQuery('as', 'must be the subject of a caller');
  const caller = { subject, scopes: given.get('scopes') ?? undefined };
  return secretReply(200, await explanationOf(services, path, caller, run));
}
