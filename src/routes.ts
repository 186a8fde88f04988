import { BATCH_PATH, batch } from './actions/batch.js';
import type { BatchLimits } from './actions/batch-results.js';
import type { WriteSettings } from './actions/conditional-write.js';
import { create, createNested } from './actions/create.js';
import { listEvents } from './actions/events.js';
import { get } from './actions/get.js';
import { withIdempotency } from './actions/idempotency.js';
import { list, listNested } from './actions/list.js';
import { restrictCreationToOwn, restrictToOwnRecord } from './actions/own-records.js';
import { patch } from './actions/patch.js';
import { METADATA_PATH, type ProtectedResource, protectedResource } from './actions/protected-resource.js';
import { remove } from './actions/remove.js';
import { replace } from './actions/replace.js';
import { whoami } from './actions/whoami.js';
import { type Collection, openCollection } from './collection/collection.js';
import { items } from './collection/resources/items.js';
import { posts } from './collection/resources/posts.js';
import { users } from './collection/resources/users.js';
import type { Db } from './db/db.js';
import type { Feed } from './events/feed.js';
import { type Action, type Route, type Router, requiring } from './http/router.js';
import type { ScopeRequirement } from './principal.js';

/** Every collection that the service offers, by name. */
export interface Collections {
  readonly users: Collection;
  readonly items: Collection;
  readonly posts: Collection;
}

/** What the operator decides about the API. */
export interface ApiSettings extends WriteSettings, BatchLimits {
  /** Deleted ids are remembered and answered 410. */
  readonly tombstones: boolean;
  /** How long an answer is kept for a repeat with the same Idempotency-Key. */
  readonly idempotencyTtlSeconds: number;
}

/** Opens all collections. Throws when one does not fit the schema. */
export async function openCollections(db: Db, tombstones: boolean): Promise<Collections> {
  const [u, i, p] = await Promise.all(
    [users, items, posts].map((resource) => openCollection(db, resource, tombstones)),
  );
  return { users: u!, items: i!, posts: p! };
}

/** What callers use. Each path answers below /api/v1 and at the root. `router` gives the router of these routes. */
export function routes(
  db: Db,
  { users, items, posts }: Collections,
  settings: ApiSettings & ProtectedResource,
  router: () => Router,
  feed?: Feed,
): Route[] {
  const all = [users, items, posts];
  const once = (action: Action) => withIdempotency(db, settings.idempotencyTtlSeconds, all, action);
  const table: Route[] = [
    ...collectionRoutes(db, users, settings, feed),
    ...collectionRoutes(db, items, settings, feed),
    ...collectionRoutes(db, posts, settings, feed),
    {
      path: '/users/:id/posts',
      actions: {
        GET: requiring(
          { scopes: ['posts:read', 'users:read'], ownership: 'path' },
          listNested(posts, users, feed),
        ),
        POST: requiring(
          { scopes: ['posts:write', 'users:read'], ownership: 'path' },
          once(createNested(posts)),
        ),
      },
    },
    {
      path: BATCH_PATH,
      actions: { POST: requiring('credential', once(batch(db, all, router, settings))) },
    },
    { path: '/whoami', actions: { GET: requiring('credential', whoami) } },
    ...(feed ? [eventRoute(feed)] : []),
  ];
  return settings.auth.includes('bearer') ? [...table, metadataRoute(settings, table)] : table;
}

/** What a client needs to know to get an access token for these routes. */
function metadataRoute(settings: ProtectedResource, table: readonly Route[]): Route {
  const needs = table.flatMap(({ actions }) => Object.values(actions).map((action) => action.requires));
  const named = needs.flatMap((need) => (typeof need === 'string' ? [] : need.scopes));
  const scopes = new Set([...named, 'self', 'events:read', 'admin']);
  return {
    path: METADATA_PATH,
    actions: { GET: requiring('nothing', protectedResource(settings, [...scopes])) },
  };
}

/** The feed of changes; with `self` alone of one's own records. */
function eventRoute(feed: Feed): Route {
  return {
    path: '/events',
    actions: { GET: requiring({ scopes: ['events:read'], ownership: 'record' }, listEvents(feed)) },
  };
}

/** The two paths of a collection, with the actions that every collection has. */
export function collectionRoutes(
  db: Db,
  collection: Collection,
  settings: ApiSettings,
  feed?: Feed,
): Route[] {
  const { name, parent, owner } = collection.resource;
  const own = owner ? 'path' : parent ? 'record' : undefined;
  const read: ScopeRequirement = { scopes: [`${name}:read`], ownership: own };
  const write: ScopeRequirement = { scopes: [`${name}:write`], ownership: own };
  const once = (action: Action) => withIdempotency(db, settings.idempotencyTtlSeconds, [collection], action);
  const ofRecord = (action: Action) =>
    own === 'record' ? restrictToOwnRecord(db, collection, action) : action;
  const creation =
    own === 'record' ? restrictCreationToOwn(collection, create(collection)) : create(collection);
  return [
    {
      path: `/${name}`,
      actions: {
        GET: requiring({ scopes: read.scopes }, list(collection, feed)),
        POST: requiring({ ...write, ownership: own === 'record' ? own : undefined }, once(creation)),
      },
    },
    {
      path: `/${name}/:id`,
      actions: {
        GET: requiring(read, ofRecord(get(collection))),
        PUT: requiring(write, ofRecord(replace(collection, settings))),
        PATCH: requiring(write, once(ofRecord(patch(collection, settings)))),
        DELETE: requiring(write, ofRecord(remove(collection, settings))),
      },
    },
  ];
}
