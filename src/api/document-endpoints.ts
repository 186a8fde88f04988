import { STATUS_CODES } from 'node:http';
import { hashedReply } from '../collection/representation.js';
import type { Resource } from '../collection/resource.js';
import { entriesOf, entryOf, typeOf } from '../errors/catalogue.js';
import type { Problem, ProblemType } from '../errors/problem.js';
import { noSuchErrorCode } from '../errors/request-errors.js';
import { JSON_TYPE } from '../http/media-types.js';
import { readConditions } from '../http/preconditions.js';
import { type DocumentForm, render } from '../http/problem-body.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import { type Action, visible } from '../http/router.js';
import type { Json } from '../json.js';
import { mayRead } from '../policy/policy.js';
import { mountOf, VERSIONS, type Version } from '../versions/supported.js';
import { type Doc, type ErrorName, type SchemaName, UNCHANGED, VALIDATED } from './doc.js';
import { at, type Description, type Endpoint } from './endpoint.js';

/** The description of an endpoint that reads a document, which has an ETag. */
export const documented = (
  { id, summary, description }: { id: string; summary: string; description: string },
  content: Readonly<Record<string, SchemaName>>,
  ...errors: ErrorName[]
): Doc => ({
  id,
  tag: 'service',
  summary,
  success: { 200: { description, content, headers: VALIDATED }, 304: UNCHANGED },
  errors: [...errors, 'PRECONDITION_FAILED'],
  fields: ['If-Match', 'If-None-Match'],
});

/** The parts of the service that the home document names. */
export interface HomeServices {
  readonly resources: readonly Resource[];
  /** All endpoints of the service. */
  readonly endpoints: readonly Description[];
  readonly settings: { readonly publicPrefix: string };
}

export const HOME: Endpoint<HomeServices> = {
  ...at('GET', '/', 'optional'),
  doc: documented(
    {
      id: 'getHome',
      summary: 'Name the collections and documents of the service that the caller may read',
      description: 'Links to all that the caller may read.',
    },
    { [JSON_TYPE]: 'Home' },
  ),
  open: home,
};

/** Names the versions, and the collections and documents that the caller may read, with links: 200, 304, 406, 412. */
function home({ resources, endpoints, settings: { publicPrefix } }: HomeServices): Action {
  const documents = endpoints
    .flatMap((endpoint) => (endpoint.homeLink ? [{ endpoint, ...endpoint.homeLink }] : []))
    .sort((a, b) => a.position - b.position);
  const versions = VERSIONS.map((version) => [version.number, `${mountOf(version, publicPrefix)}/`]);
  return {
    run: ({ headers, prefix, principal }) => {
      const links = documents
        .filter(({ endpoint }) => visible(principal, endpoint))
        .map(({ name, endpoint }) => [name, prefix + endpoint.path]);
      const readable = resources.filter((resource) => mayRead(resource, principal));
      const body = JSON.stringify({
        name: 'Plinth',
        versions: Object.fromEntries(versions),
        collections: readable.map(({ name, singular }) => ({ name, singular, href: `${prefix}/${name}` })),
        links: { self: `${prefix}/`, ...Object.fromEntries(links) },
      });
      return hashedReply(JSON_TYPE, body, readConditions(headers));
    },
  };
}

export const ERRORS_PATH = '/errors';

/** The parts of the service that explain errors. */
export interface ErrorServices {
  /** The types of problems of the core and of the open features. */
  readonly errorTypes: readonly ProblemType[];
}

/** The codes of errors. */
export const ERRORS: readonly Endpoint<ErrorServices>[] = [
  {
    ...at('GET', ERRORS_PATH, 'nothing'),
    outlivesVersion: true,
    homeLink: { name: 'errors', position: 4 },
    doc: documented(
      { id: 'listErrors', summary: 'List the codes of errors', description: 'All codes.' },
      { [JSON_TYPE]: 'ErrorList' },
    ),
    run: listErrors,
  },
  {
    ...at('GET', `${ERRORS_PATH}/:code`, 'nothing'),
    outlivesVersion: true,
    doc: documented(
      {
        id: 'getError',
        summary: 'Explain one code, at the address that is the type of its problem documents',
        description: 'The code.',
      },
      { [JSON_TYPE]: 'ErrorExplanation' },
      'NOT_FOUND',
    ),
    run: showError,
  },
];

/** Lists the codes of error responses with their explanations: 200, 304, 406, 412. */
function listErrors({ errorTypes }: ErrorServices, { version, prefix, headers }: Request): Reply {
  const data = entriesOf(errorTypes);
  const self = prefix + ERRORS_PATH;
  // The list has one page.
  const [meta, links] =
    version.lists === 'keyset'
      ? [{ limit: data.length }, { self, next: null, prev: null, first: self }]
      : [{ total: data.length }, { self }];
  return hashedReply(JSON_TYPE, JSON.stringify({ data, meta, links }), readConditions(headers));
}

/**
 * Explains one code: 200, 304, 404, 406, 412. `type` of application/problem+json refers to it (RFC 9457 section 3.1.1).
 */
function showError({ errorTypes }: ErrorServices, { params, headers, version, prefix }: Request): Reply {
  const { code = '' } = params;
  const type = typeOf(errorTypes, code);
  if (!type) throw noSuchErrorCode();
  const list = prefix + ERRORS_PATH;
  const body = JSON.stringify({
    ...entryOf(type, code),
    title: STATUS_CODES[type.status],
    examples: examplesOf(type, code, version, list),
    links: { self: `${list}/${code}`, errors: list },
  });
  return hashedReply(JSON_TYPE, body, readConditions(headers));
}

/** A body with the code in each form that the version has, by its media type. */
function examplesOf(
  type: ProblemType,
  code: string,
  { errors: { isAlwaysProblem, ...members } }: Version,
  errorsPath: string,
): Record<string, Json> {
  const document: DocumentForm = { ...members, errorsPath };
  const bodies = (isAlwaysProblem ? [document] : [undefined, document]).map((form) =>
    exampleOf(type.example(code), form),
  );
  return Object.fromEntries(bodies);
}

const EXAMPLE_REQUEST_ID = '0198c0de-0000-7000-8000-000000000000';

/** The body of a problem, with its media type. */
export function exampleOf(problem: Problem, form?: DocumentForm): [type: string, body: Json] {
  const { headers, body } = render(problem, EXAMPLE_REQUEST_ID, form);
  const type = headers[headers.indexOf('Content-Type') + 1]!;
  return [type, type.startsWith('text/') ? body : (JSON.parse(body) as Json)];
}
