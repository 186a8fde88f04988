import { requireReadable } from '../../actions/readable.js';
import { MAX_PAGE_BYTES } from '../../collection/document.js';
import { type Resource, singleReferences } from '../../collection/resource.js';
import type { Db } from '../../db/db.js';
import { invalidQuery } from '../../errors/input-errors.js';
import type { Request } from '../../http/request.js';
import { type Json, type JsonObject, member, setMember } from '../../json.js';
import type { Collection } from '../../list/open-collection.js';
import { relationName } from '../../list/relations.js';
import { namesOf } from './imported-names.js';
import type { JsonServerQuery } from './loose-query.js';
import {
  largeChildrenStatement,
  largeReferredStatement,
  looseChildrenStatement,
} from './loose-relation-sql.js';

const MAX_RELATIONS = 5;

/** The collection of the records, and those that relations may lead to. */
export interface Source {
  readonly db: Db;
  readonly collection: Collection;
  readonly related: readonly Collection[];
  /** The origin by which a client reaches the service, with which json-server begins addresses. */
  readonly originOf: (headers: Request['headers']) => string;
}

/**
 * Adds to records those that refer to them (`_embed`) and those to which they refer (`_expand`). Throws 403. Returns whether
 * memory has room for these.
 */
export async function addRelations(
  source: Source,
  records: readonly JsonObject[],
  { embed, expand }: Pick<JsonServerQuery, 'embed' | 'expand'>,
  request: Request,
): Promise<boolean> {
  if (embed.length + expand.length > MAX_RELATIONS)
    throw invalidQuery('_embed', `has more than ${MAX_RELATIONS} names`);
  for (const name of embed) if (!(await embedRecords(source, records, name, request))) return false;
  for (const name of expand) if (!(await expandRecords(source, records, name, request))) return false;
  return true;
}

/** Whether memory has room for what relations add to each of some records. Throws as addRelations does. */
export async function fitsEach(
  source: Source,
  ids: readonly string[],
  query: Pick<JsonServerQuery, 'embed' | 'expand'>,
  request: Request,
): Promise<boolean> {
  // Without records, for the rights of the caller.
  await addRelations(source, [], query, request);
  const { db, collection, related } = source;
  const { resource } = collection;
  const embedded = query.embed.map((name) => {
    const child = childOf(source, name);
    return child && largeChildrenStatement(child.resource, child.field, ids, MAX_PAGE_BYTES);
  });
  const expanded = query.expand.map((name) => {
    const reference = referenceOf(resource, name);
    const other = related.find((each) => each.resource.name === reference?.to)?.resource;
    return (
      reference && other && largeReferredStatement(resource, reference.field, other, ids, MAX_PAGE_BYTES)
    );
  });
  for (const statement of [...embedded, ...expanded]) {
    if (statement === undefined) continue;
    const { text, args } = statement;
    const [row] = await (request.run ? request.run(text, args) : db.query(text, args));
    if (row!.exceeds === true) return false;
  }
  return true;
}

/** The collection that a name of `_embed` means, and its field that refers to the records; undefined: there is none. */
function childOf({ collection, related }: Source, name: string) {
  const own = namesOf(related.map(({ resource }) => resource.name)).get(name);
  const child = related.find(({ resource }) => resource.name === own)?.resource;
  const field = child && referenceTo(child, collection.resource);
  return child && field !== undefined ? { resource: child, field } : undefined;
}

/** The reference that a name of `_expand` means. */
const referenceOf = (resource: Resource, name: string) =>
  singleReferences(resource).find(({ field }) => relationName(field) === name);

async function embedRecords(
  source: Source,
  records: readonly JsonObject[],
  name: string,
  request: Request,
): Promise<boolean> {
  const { db } = source;
  const child = childOf(source, name);
  if (child === undefined) {
    for (const record of records) setMember(record, name, []);
    return true;
  }
  requireReadable(child.resource, request.principal);
  const ids = records.map(({ id }) => String(id));
  const { text, args } = looseChildrenStatement(child.resource, child.field, ids, MAX_PAGE_BYTES);
  const rows = await (request.run ? request.run(text, args) : db.query(text, args));
  if (rows.some(({ docs }) => docs === null)) return false;
  const found = new Map(
    rows.map(({ parent, docs }) => [parent as string, JSON.parse(docs as string) as Json]),
  );
  for (const record of records) setMember(record, name, found.get(String(record.id)) ?? []);
  return true;
}

/** The field of a collection that refers to another: the one that is named after it, or the first. */
export function referenceTo(child: Resource, parent: Resource): string | undefined {
  const fields = singleReferences(child)
    .filter(({ to }) => to === parent.name)
    .map(({ field }) => field);
  const isNamed = (field: string) => parent.name.startsWith(relationName(field).toLowerCase().slice(0, -1));
  return fields.find(isNamed) ?? fields[0];
}

async function expandRecords(
  { collection, related }: Source,
  records: readonly JsonObject[],
  name: string,
  request: Request,
): Promise<boolean> {
  const reference = referenceOf(collection.resource, name);
  const other = related.find(({ resource }) => resource.name === reference?.to);
  if (!reference || !other) return true;
  requireReadable(other.resource, request.principal);
  const idOf = (record: JsonObject) => member(record, reference.field);
  const ids = [...new Set(records.map(idOf).filter((id) => typeof id === 'string'))];
  const found = await other.referring('id', ids, 1, request.run);
  if (found === undefined) return false;
  let bytes = 0;
  for (const record of records) {
    const doc = found.get(String(idOf(record)));
    if (doc === undefined) continue;
    // Several records may refer to one, which the response contains as many times.
    bytes += doc.length;
    if (bytes > MAX_PAGE_BYTES) return false;
    setMember(record, name, JSON.parse(doc) as Json);
  }
  return true;
}
