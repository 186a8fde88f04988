import type { BatchLimits } from '../actions/batch-results.js';
import { forAllMatching } from '../actions/bulk.js';
import type { WriteSettings } from '../actions/change-record.js';
import { create, createNested } from '../actions/create.js';
import { createWithId, replaceOrCreate } from '../actions/create-with-id.js';
import { get } from '../actions/get.js';
import { history } from '../actions/history.js';
import { type Idempotency, withIdempotency } from '../actions/idempotency.js';
import { type FeedPosition, list } from '../actions/list.js';
import { patch } from '../actions/patch.js';
import { queryBy } from '../actions/query.js';
import { remove } from '../actions/remove.js';
import { replace } from '../actions/replace.js';
import { upsert } from '../actions/upsert.js';
import type { Resource } from '../collection/resource.js';
import type { Db } from '../db/db.js';
import type { Feed } from '../events/feed.js';
import type { Action } from '../http/router.js';
import { openCollection } from '../list/open-collection.js';
import { openScopedCollections } from '../policy/caller-scope.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import type { RecordMethod } from './endpoint.js';
import type { ProtectedResource } from './service-endpoints.js';

/** The settings of the API. */
export interface ApiSettings extends WriteSettings, BatchLimits {
  /** Whether deleted ids are remembered: 410. */
  readonly tombstones: boolean;
  readonly dbTimeoutMs: number;
}

/** The parts that the routes of collections need. `feed` is undefined with EVENTS=off. */
export interface Api {
  readonly db: Db;
  readonly collections: readonly ScopedCollection[];
  readonly settings: ApiSettings & ProtectedResource & { readonly publicPrefix: string };
  readonly feed: Feed | undefined;
  readonly idempotency: Idempotency;
  /** Undefined: the primary reads. */
  readonly read: Read | undefined;
  /** Undefined: requests and responses are those of this service. */
  readonly adapter: Adapter | undefined;
}

/** An action that only reads, made by `make` for the primary and for other servers that have the records as well. */
export type Read = (primary: Reader, make: (reader: Reader) => Action) => Action;

/** An action with the requests and responses of another program. `parent`: the path begins with its record. */
type Form = (action: Action, reader: Reader, resource: Resource, parent?: Resource) => Action;

/** Gives the actions of collections the requests and responses of another program. */
export interface Adapter {
  readonly list: Form;
  readonly record: Form;
  readonly creation: Form;
}

/** The parts of a database that reading actions need. */
export interface Reader {
  readonly db: Db;
  readonly collections: readonly ScopedCollection[];
  readonly feed: FeedPosition | undefined;
}

const ofName = (collections: readonly ScopedCollection[], { name }: Resource): ScopedCollection =>
  collections.find(({ resource }) => resource.name === name)!;

/** Opens all collections. */
export function openCollections(
  db: Db,
  resources: readonly Resource[],
  tombstones: boolean,
): ScopedCollection[] {
  const collections = resources.map((resource) => openCollection(db, resource, tombstones));
  return openScopedCollections(db, collections);
}

export function idempotent({ db, idempotency }: Api, action: Action): Action {
  return withIdempotency(db, idempotency, action);
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

/** The parts of a service around an action on records. */
interface Surroundings {
  /** A repeat with the same Idempotency-Key gets the first response. */
  readonly isOnce?: true;
  /** Replicas may read as well. */
  readonly isRead?: true;
  readonly form?: keyof Adapter;
  readonly parent?: Resource;
}

/**
 * The action of a method with what the service has around it. `GET /users/<id>` is, from the outside in: a replica or else the
 * primary, in the form of json-server, `get`. `PATCH /users/<id>` is: once for each Idempotency-Key, in the form of json-server,
 * `patch`.
 */
function composed(
  api: Api,
  resource: Resource,
  { isOnce, isRead, form, parent }: Surroundings,
  make: (reader: Reader) => Action,
): Action {
  const { adapter } = api;
  const onReader = (reader: Reader): Action => {
    const action = make(reader);
    return adapter && form ? adapter[form](action, reader, resource, parent) : action;
  };
  const action = isRead && api.read ? api.read(api, onReader) : onReader(api);
  return isOnce ? idempotent(api, action) : action;
}

function actionsOf(api: Api, collection: ScopedCollection): RecordActions {
  const { db, settings, feed } = api;
  const { resource } = collection;
  const is = (around: Surroundings, make: (reader: Reader) => Action) =>
    composed(api, resource, around, make);
  const ofMatching = (verb: 'update' | 'delete', action: Action) =>
    forAllMatching(db, collection, api.collections, verb, action, settings.dbTimeoutMs);
  const getting = ({ collections }: Reader) => get(ofName(collections, resource), collections);
  const listing = ({ collections, feed }: Reader) => list(ofName(collections, resource), collections, feed);
  const creation = () => create(collection);
  const withId = () => createWithId(collection);
  const replacing = () => replace(collection, settings);
  const patching = patch(collection, settings);
  const removing = remove(collection, settings);
  const putting = () => replaceOrCreate(replacing(), is({ isOnce: true }, withId));
  const upserting = () =>
    upsert(db, collection, is({ form: 'record' }, replacing), is({ form: 'creation' }, creation));
  return {
    list: is({ isRead: true, form: 'list' }, listing),
    query: queryBy(is({ isRead: true }, listing), resource),
    patchMatching: is({ isOnce: true }, () => ofMatching('update', patching)),
    removeMatching: ofMatching('delete', removing),
    create: is({ isOnce: true, form: 'creation' }, creation),
    upsert: is({ isOnce: true }, upserting),
    get: is({ isRead: true, form: 'record' }, getting),
    replace: is({ form: 'record' }, resource.hasClientIds ? putting : replacing),
    patch: is({ isOnce: true, form: 'record' }, () => patching),
    remove: is({ form: 'record' }, () => removing),
    ...(feed && { history: history(collection, getting(api), feed) }),
  };
}

function nestedActions(api: Api, collection: ScopedCollection): RecordActions {
  const { resource } = collection;
  const parent = api.collections.find((each) => each.resource.name === resource.parent?.to);
  if (!parent) return {};
  const around = { parent: parent.resource };
  const listing = ({ collections, feed }: Reader) =>
    list(ofName(collections, resource), collections, feed, ofName(collections, parent.resource));
  const creation = () => createNested(collection);
  return {
    listNested: composed(api, resource, { ...around, isRead: true, form: 'list' }, listing),
    queryNested: queryBy(composed(api, resource, { isRead: true }, listing), resource),
    createNested: composed(api, resource, { ...around, isOnce: true, form: 'creation' }, creation),
  };
}
