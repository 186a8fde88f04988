import type { Run } from '../db/db.js';
import type { JsonObject } from '../json.js';
import type { ListRequest } from '../list/list-request.js';
import type { Collection } from '../list/open-collection.js';

/** Reads the excerpts of records by their ids; absent: a response has none. */
export type Excerpts = (
  ids: readonly string[],
  run: Run | undefined,
) => Promise<ReadonlyMap<string, JsonObject>>;

/** The excerpts that a list request asks for; undefined: it asks for none. */
export const excerptsOf = (
  collection: Collection,
  { excerpts, search }: ListRequest,
): Excerpts | undefined => (excerpts ? (ids, run) => collection.excerpts(search, ids, run) : undefined);
