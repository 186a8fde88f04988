import { PATCH_TYPES } from '../actions/patch.js';
import { type Requirement, readingOf, type ScopeRequirement } from '../auth/principal.js';
import { RECORD_TYPES } from '../collection/representation.js';
import { type Resource, writableKeys } from '../collection/resource.js';
import { CSV_TYPE, JSON_TYPE, NDJSON_TYPE } from '../http/media-types.js';
import type { Offer } from '../http/router.js';
import { RECORD_PARAMETERS } from '../list/read-fields-and-includes.js';
import { listParameters } from '../list/read-list.js';
import {
  isByRecord,
  isForAnyone,
  isPublic,
  leadsToLimited,
  ownershipOf,
  type Verb,
} from '../policy/policy.js';
import type { Description, Endpoint, RecordMethod } from './endpoint.js';
import type { RecordActions } from './record-actions.js';

/** The services that endpoints of collections run with. */
export interface RecordServices {
  readonly records: ReadonlyMap<string, RecordActions>;
}

/** The endpoints of the collections. `anyParameters`: lists have any parameter; `hasEvents`: changes of records are recorded. */
export function recordEndpoints(
  resources: readonly Resource[],
  anyParameters: boolean,
  hasEvents: boolean,
): Endpoint<RecordServices>[] {
  return [
    ...resources.flatMap((resource) =>
      endpointsOf(resource, resources, offersOf(resource, anyParameters), hasEvents),
    ),
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
    keysetParameters: listParameters(resource, 'keyset'),
    isTolerant: resource.hasTolerantLists,
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
    history: { offers: [JSON_TYPE], parameters: ['limit', 'after'] },
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
function endpointsOf(
  resource: Resource,
  resources: readonly Resource[],
  offers: ReturnType<typeof offersOf>,
  hasEvents: boolean,
): Endpoint<RecordServices>[] {
  const { name, scopes, owner, hasHistory } = resource;
  const own = (verb: Verb) => ownershipOf(resource, verb);
  // A request about several records has no path of one.
  const ofList = (verb: Verb) => (own(verb) === 'path' ? undefined : own(verb));
  const reading = (given: ScopeRequirement['ownership']) =>
    isForAnyone(resource, 'read') ? openReading(resource, resources) : readingOf([scopes], given);
  const [read, readAll] = [reading(own('read')), reading(ofList('read'))];
  const writing = (verb: Verb, given: ScopeRequirement['ownership'], more = {}): Requirement =>
    isForAnyone(resource, verb) ? 'optional' : { scopes: [scopes.write], ownership: given, ...more };
  // A request is counted as one, whatever the number of its records.
  const writingMany = (verb: Verb): Requirement =>
    isForAnyone(resource, verb) ? 'credential' : writing(verb, ofList(verb));
  const [list, one] = [`/${name}`, `/${name}/:id`];
  return [
    of(resource, list, 'GET', 'list', readAll, offers.list),
    of(resource, list, 'QUERY', 'query', readAll, offers.query),
    of(resource, list, 'PATCH', 'patchMatching', writingMany('update'), offers.patchMatching),
    of(resource, list, 'DELETE', 'removeMatching', writingMany('delete'), offers.removeMatching),
    of(resource, list, 'POST', 'create', writing('create', ofList('create')), offers.create),
    ...(writableKeys(resource).length > 0
      ? [of(resource, list, 'PUT', 'upsert', writing('update', ofList('update')), offers.upsert)]
      : []),
    of(resource, one, 'GET', 'get', read, offers.get),
    of(resource, one, 'PUT', 'replace', writing('update', own('update')), offers.replace),
    of(resource, one, 'PATCH', 'patch', writing('update', own('update')), offers.patch),
    of(
      resource,
      one,
      'DELETE',
      'remove',
      writing('delete', own('delete'), { deletesAccount: owner }),
      offers.remove,
    ),
    ...(hasHistory && hasEvents
      ? [of(resource, `${one}/history`, 'GET', 'history', read, offers.history)]
      : []),
  ];
}

/** The requirement of reading without a scope: a credential matters if it shows more than a stranger sees. */
const openReading = (resource: Resource, resources: readonly Resource[]): Requirement =>
  resource.hasRules || leadsToLimited(resource, resources) ? 'optional' : 'nothing';

/** The scopes of the collections that not everybody reads. */
const limitedScopes = (...resources: readonly Resource[]) =>
  resources.filter((each) => !isPublic(each)).map(({ scopes }) => scopes);

/** The endpoints of the list below a record of the parent. */
function nestedEndpoints(
  resource: Resource,
  resources: readonly Resource[],
  offers: ReturnType<typeof offersOf>,
): Endpoint<RecordServices>[] {
  const { name, parent: reference, scopes } = resource;
  const parent = resources.find((each) => each.name === reference?.to);
  if (!parent) return [];
  // By `self` a caller reads its own record alone, if the parents are callers without access rules.
  const ofOwn = ownershipOf(parent, 'read') === 'path' ? 'path and rules' : undefined;
  const ofRules = isByRecord(parent) || isPublic(parent) ? 'rules' : ofOwn;
  const ownership = isByRecord(resource) ? ofRules : undefined;
  const writing = { read: scopes.write, write: scopes.write };
  const isOpen = (verb: Verb) => isForAnyone(resource, verb) && isForAnyone(parent, 'read');
  const read = isOpen('read')
    ? openReading(resource, resources)
    : readingOf(limitedScopes(resource, parent), ownership);
  const write = isOpen('create') ? 'optional' : readingOf([writing, ...limitedScopes(parent)], ownership);
  const path = `/${parent.name}/:id/${name}`;
  return [
    of(resource, path, 'GET', 'listNested', read, offers.list),
    of(resource, path, 'QUERY', 'queryNested', read, offers.query),
    of(resource, path, 'POST', 'createNested', write, offers.create),
  ];
}
