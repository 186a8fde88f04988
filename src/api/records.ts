import { PATCH_TYPES } from '../actions/patch.js';
import { writableKeys } from '../actions/upsert.js';
import { CSV_TYPE, JSON_TYPE, NDJSON_TYPE, RECORD_TYPES } from '../collection/representation.js';
import type { Resource } from '../collection/resource.js';
import type { Offer } from '../http/router.js';
import { keysetParameters, listParameters } from '../list/read-list.js';
import { RECORD_PARAMETERS } from '../list/view.js';
import type { Requirement, ScopeRequirement } from '../principal.js';
import type { Description, Endpoint, RecordMethod } from './endpoint.js';
import type { RecordActions } from './record-actions.js';

/** The services that endpoints of collections run with. */
export interface RecordServices {
  readonly records: ReadonlyMap<string, RecordActions>;
}

/** The endpoints of the collections. `anyParameters`: lists have any parameter. */
export function recordEndpoints(
  resources: readonly Resource[],
  anyParameters: boolean,
): Endpoint<RecordServices>[] {
  return [
    ...resources.flatMap((resource) => endpointsOf(resource, offersOf(resource, anyParameters))),
    ...resources.flatMap((resource) =>
      nestedEndpoints(resource, resources, offersOf(resource, anyParameters)),
    ),
  ];
}

const LIST_TYPES = [JSON_TYPE, CSV_TYPE, NDJSON_TYPE];

/** The media types and parameters of the methods of a collection. */
function offersOf(resource: Resource, anyParameters: boolean) {
  const parameters = listParameters(resource);
  // json-server takes any parameter for the name of a field.
  const any = anyParameters ? { acceptsAny: true } : {};
  const list = {
    ...any,
    offers: LIST_TYPES,
    parameters: anyParameters ? [...parameters, 'q'] : parameters,
    keysetParameters: keysetParameters(resource),
  };
  const matching = {
    offers: [JSON_TYPE],
    parameters: parameters.filter((name) => name === 'filter' || name === 'search'),
    requiresFilter: true,
  };
  const write = { ...any, accepts: [JSON_TYPE], parameters: [] };
  return {
    list,
    // The query is in the body alone.
    query: { offers: LIST_TYPES, accepts: [JSON_TYPE], parameters: [], keysetParameters: [] },
    patchMatching: { ...matching, accepts: PATCH_TYPES },
    removeMatching: matching,
    create: write,
    upsert: { ...write, parameters: ['filter'], requiresFilter: true },
    get: { ...any, offers: RECORD_TYPES, parameters: RECORD_PARAMETERS },
    replace: write,
    patch: { ...write, accepts: PATCH_TYPES },
    remove: { ...any, parameters: [] },
  };
}

const of = (
  resource: Resource,
  path: string,
  method: Description['method'],
  name: RecordMethod,
  requires: Requirement,
  offer: Offer,
): Endpoint<RecordServices> => ({
  ...offer,
  method,
  path,
  requires,
  records: { method: name, resource },
  open: ({ records }) => records.get(resource.name)![name]!,
});

/** The endpoints of a list, and of one record. */
function endpointsOf(resource: Resource, offers: ReturnType<typeof offersOf>): Endpoint<RecordServices>[] {
  const { name, scopes, isOwned, owner } = resource;
  const ownership = owner ? 'path' : isOwned ? 'record' : undefined;
  const ofList = isOwned ? ownership : undefined;
  const read = requirementOf(scopes.read, ownership);
  const readAll = requirementOf(scopes.read, ofList);
  const write: ScopeRequirement = { scopes: [scopes.write], ownership };
  const writeAll: ScopeRequirement = { scopes: [scopes.write] };
  const [list, one] = [`/${name}`, `/${name}/:id`];
  return [
    of(resource, list, 'GET', 'list', readAll, offers.list),
    of(resource, list, 'QUERY', 'query', readAll, offers.query),
    of(resource, list, 'PATCH', 'patchMatching', writeAll, offers.patchMatching),
    of(resource, list, 'DELETE', 'removeMatching', writeAll, offers.removeMatching),
    of(resource, list, 'POST', 'create', { ...write, ownership: ofList }, offers.create),
    ...(writableKeys(resource).length > 0
      ? [of(resource, list, 'PUT', 'upsert', { ...write, ownership: ofList }, offers.upsert)]
      : []),
    of(resource, one, 'GET', 'get', read, offers.get),
    of(resource, one, 'PUT', 'replace', write, offers.replace),
    of(resource, one, 'PATCH', 'patch', write, offers.patch),
    of(resource, one, 'DELETE', 'remove', { ...write, deletesAccount: owner }, offers.remove),
  ];
}

/** The requirement of a read; without a scope, nothing. */
const requirementOf = (scope: string | undefined, ownership: ScopeRequirement['ownership']): Requirement =>
  scope === undefined ? 'nothing' : { scopes: [scope], ownership };

/** The endpoints of the list below a record of the parent. */
function nestedEndpoints(
  resource: Resource,
  resources: readonly Resource[],
  offers: ReturnType<typeof offersOf>,
): Endpoint<RecordServices>[] {
  const { name, parent: reference, scopes } = resource;
  const parent = resources.find((each) => each.name === reference?.to);
  if (!parent) return [];
  const ownership = parent.owner ? 'path' : undefined;
  const requirement = (...named: (string | undefined)[]): Requirement => {
    const required = named.filter((scope) => scope !== undefined);
    return required.length === 0 ? 'nothing' : { scopes: required, ownership };
  };
  const read = requirement(scopes.read, parent.scopes.read);
  const path = `/${parent.name}/:id/${name}`;
  return [
    of(resource, path, 'GET', 'listNested', read, offers.list),
    of(resource, path, 'QUERY', 'queryNested', read, offers.query),
    of(resource, path, 'POST', 'createNested', requirement(scopes.write, parent.scopes.read), offers.create),
  ];
}
