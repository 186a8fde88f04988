import { create, createNested } from './actions/create.js';
import { get } from './actions/get.js';
import { list, listNested } from './actions/list.js';
import { patch } from './actions/patch.js';
import { remove } from './actions/remove.js';
import { replace } from './actions/replace.js';
import { type Collection, openCollection } from './collection.js';
import type { Db } from './db/connect.js';
import type { Route } from './http/router.js';
import { items } from './resources/items.js';
import { posts } from './resources/posts.js';
import { users } from './resources/users.js';

/** Every collection that the service offers, by name. */
export interface Collections {
  readonly users: Collection;
  readonly items: Collection;
  readonly posts: Collection;
}

/** Opens all collections. Throws when one does not fit the schema. */
export async function openCollections(db: Db): Promise<Collections> {
  const [u, i, p] = await Promise.all([users, items, posts].map((resource) => openCollection(db, resource)));
  return { users: u!, items: i!, posts: p! };
}

/** The whole API. Each path answers below /api/v1 and at the root. `bodyLimit` in bytes. */
export function routes({ users, items, posts }: Collections, bodyLimit: number): Route[] {
  return [
    ...collectionRoutes(users, bodyLimit),
    ...collectionRoutes(items, bodyLimit),
    ...collectionRoutes(posts, bodyLimit),
    {
      path: '/users/:id/posts',
      actions: { GET: listNested(posts, users), POST: createNested(posts, users) },
    },
  ];
}

/** The two paths of a collection, with the actions that every collection has. */
export function collectionRoutes(collection: Collection, bodyLimit: number): Route[] {
  const { name } = collection.resource;
  return [
    { path: `/${name}`, actions: { GET: list(collection), POST: create(collection) } },
    {
      path: `/${name}/:id`,
      actions: {
        GET: get(collection),
        PUT: replace(collection),
        PATCH: patch(collection, bodyLimit),
        DELETE: remove(collection),
      },
    },
  ];
}
