import { guardAll } from '../access/guard.js';
import type { Guarded } from '../access/guarded-collection.js';
import { openRuledReads } from '../access/ruled-reads.js';
import { rulesOf, type Verb } from '../access/rules.js';
import type { BatchLimits } from '../actions/batch-results.js';
import { forAllMatching } from '../actions/bulk.js';
import type { WriteSettings } from '../actions/conditional-write.js';
import { create, createNested } from '../actions/create.js';
import { createWithId, replaceOrCreate } from '../actions/create-with-id.js';
import { get } from '../actions/get.js';
import { history } from '../actions/history.js';
import { withIdempotency } from '../actions/idempotency.js';
import { type FeedPosition, list, listNested } from '../actions/list.js';
import { restrictCreationToOwn, restrictToOwnRecord } from '../actions/owner-check.js';
import { patch } from '../actions/patch.js';
import { checkReferences } from '../actions/permitted-references.js';
import { queryBy } from '../actions/query.js';
import { remove } from '../actions/remove.js';
import { replace } from '../actions/replace.js';
import { upsert } from '../actions/upsert.js';
import type { Resource } from '../collection/resource.js';
import type { Db } from '../db/db.js';
import type { Feed } from '../events/feed.js';
import type { Action } from '../http/router.js';
import { openCollection } from '../list/open-collection.js';
import type { RecordMethod } from './endpoint.js';
import type { ProtectedResource } from './service-endpoints.js';

/** The settings of the API. */
export interface ApiSettings extends WriteSettings, BatchLimits {
  /** Whether deleted ids are remembered: 410. */
  readonly tombstones: boolean;
  /** Seconds for which a response is stored for a repeat with the same Idempotency-Key. */
  readonly idempotencyTtlSeconds: number;
  readonly dbTimeoutMs: number;
}

/** The parts that the routes of collections need. `feed` is undefined with EVENTS=off. */
export interface Api {
  readonly db: Db;
  readonly collections: readonly Guarded[];
  readonly settings: ApiSettings & ProtectedResource & { readonly publicPrefix: string };
  readonly feed: Feed | undefined;
  /** Undefined: the primary reads. */
  readonly read: Read | undefined;
  /** Undefined: requests and responses are those of this service. */
  readonly adapter: Adapter | undefined;
}

/** An action that only reads, made by `make` for the primary and for other servers that have the records as well. */
export type Read = (primary: Reader, make: (reader: Reader) => Action) => Action;

/** Gives the actions of collections the requests and responses of another program. `parent`: the path begins with its record. */
export interface Adapter {
  list(action: Action, reader: Reader, resource: Resource, parent?: Resource): Action;
  record(action: Action, reader: Reader, resource: Resource): Action;
  creation(action: Action, reader: Reader, resource: Resource, parent?: Resource): Action;
}

const NATIVE: Adapter = {
  list: (action) => action,
  record: (action) => action,
  creation: (action) => action,
};

/** The parts of a database that reading actions need. */
export interface Reader {
  readonly db: Db;
  readonly collections: readonly Guarded[];
  readonly feed: FeedPosition | undefined;
}

const reading = (api: Api, make: (reader: Reader) => Action): Action => api.read?.(api, make) ?? make(api);

const ofName = (collections: readonly Guarded[], { name }: Resource): Guarded =>
  collections.find(({ resource }) => resource.name === name)!;

/** Opens all collections. */
export function openCollections(db: Db, resources: readonly Resource[], tombstones: boolean): Guarded[] {
  const collections = resources.map((resource) => openCollection(db, resource, tombstones));
  return guardAll(collections, ({ resource }) => {
    const rules = rulesOf(resource, resources);
    return rules && { rules, reads: openRuledReads(db, resource, rules) };
  });
}

export function idempotent({ db, collections, settings }: Api, action: Action): Action {
  return withIdempotency(db, settings.idempotencyTtlSeconds, collections, action);
}

/** The actions on the records of a collection; the nested ones, if it has a parent. */
export type RecordActions = Readonly<Partial<Record<RecordMethod, Action>>>;

/** The actions on the records of all collections, by their names. */
export function openRecords(api: Api): ReadonlyMap<string, RecordActions> {
  return new Map(
    api.collections.map((collection) => [
      collection.resource.name,
      { ...actionsOf(api, collection), ...nestedActions(api, collection) },
    ]),
  );
}

function actionsOf(api: Api, collection: Guarded): RecordActions {
  const { db, settings, adapter = NATIVE } = api;
  const { resource } = collection;
  const ofRecord = (verb: Verb, action: Action) => restrictToOwnRecord(db, collection, verb, action);
  const ofMatching = (verb: 'update' | 'delete', action: Action) =>
    forAllMatching(db, collection, api.collections, { verb, action, timeoutMs: settings.dbTimeoutMs });
  const getting = reading(api, (each) => {
    const opened = ofName(each.collections, resource);
    const action = get(opened, each.collections);
    return adapter.record(restrictToOwnRecord(each.db, opened, 'read', action), each, resource);
  });
  const references = checkReferences(collection, api.collections);
  const creation = restrictCreationToOwn(collection, create(collection, references));
  const withId = createWithId(collection, references);
  const replacing = ofRecord('update', replace(collection, settings, references));
  const putting = resource.hasClientIds
    ? replaceOrCreate(replacing, idempotent(api, restrictCreationToOwn(collection, withId)))
    : replacing;
  const patching = patch(collection, settings, references);
  const removing = remove(collection, settings);
  const native = ({ collections, feed }: Reader) => list(ofName(collections, resource), collections, feed);
  const adapted = (action: Action) => adapter.record(action, api, resource);
  return {
    list: reading(api, (each) => adapter.list(native(each), each, resource)),
    query: queryBy(reading(api, native), resource),
    patchMatching: idempotent(api, ofMatching('update', patching)),
    removeMatching: ofMatching('delete', removing),
    create: idempotent(api, adapter.creation(creation, api, resource)),
    upsert: idempotent(
      api,
      upsert(db, collection, adapted(replacing), adapter.creation(creation, api, resource)),
    ),
    get: getting,
    replace: adapted(putting),
    patch: idempotent(api, adapted(ofRecord('update', patching))),
    remove: adapted(ofRecord('delete', removing)),
    ...(api.feed && {
      history: history(collection, ofRecord('read', get(collection, api.collections)), db, api.feed),
    }),
  };
}

function nestedActions(api: Api, collection: Guarded): RecordActions {
  const { resource } = collection;
  const parent = api.collections.find((each) => each.resource.name === resource.parent?.to);
  if (!parent) return {};
  const { adapter = NATIVE } = api;
  const native = ({ collections, feed }: Reader) => {
    const [child, owner] = [ofName(collections, resource), ofName(collections, parent.resource)];
    return listNested(child, owner, collections, feed);
  };
  const nested = createNested(collection, checkReferences(collection, api.collections));
  return {
    listNested: reading(api, (each) => adapter.list(native(each), each, resource, parent.resource)),
    queryNested: queryBy(reading(api, native), resource),
    createNested: idempotent(api, adapter.creation(nested, api, resource, parent.resource)),
  };
}
