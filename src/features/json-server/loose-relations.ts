import { MAX_PAGE_BYTES } from '../../collection/document.js';
import type { Resource } from '../../collection/resource.js';
import { invalidQuery } from '../../errors/input-errors.js';
import type { Collection } from '../../feature.js';
import type { Request } from '../../http/request.js';
import { type Json, type JsonObject, member, setMember } from '../../json.js';
import { among, type Expression } from '../../list/condition.js';
import { sourceSql } from '../../list/condition-sql.js';
import { relationName } from '../../list/relations.js';
import { requireReadable } from '../../policy/policy.js';
import { singleReferences } from './loose-ids.js';
import type { JsonServerQuery } from './loose-query.js';

const MAX_RELATIONS = 5;

/** The collection of the records, and those that relations may lead to. */
export interface Source {
  readonly collection: Collection;
  /** The collection as there is for a caller. */
  readonly as: (caller: Request) => Collection;
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
  const { collection, related } = source;
  const embedded = query.embed.map((name) => childOf(source, name)).filter((child) => child !== undefined);
  const expanded = query.expand.flatMap((name) => {
    const reference = referenceOf(collection.resource, name);
    const other = related.find(({ resource }) => resource.name === reference?.to)?.resource;
    return reference && other ? [{ other, column: collection.resource.columns.get(reference.field)! }] : [];
  });
  if (embedded.length + expanded.length === 0) return true;
  const exceeds: Expression = (record, parameter) => {
    const max = parameter(String(MAX_PAGE_BYTES), 'bigint');
    const children = embedded.map(({ resource, field }) => {
      const referring = `child.${resource.columns.get(field)!.name} = ${record}.id`;
      return `(select sum(octet_length(child.doc)) from ${sourceSql(resource, 'child')} where ${referring}) > ${max}`;
    });
    const referred = expanded.map(({ other, column: { name } }) => {
      const isLarge = `referred.id = ${record}.${name} and octet_length(referred.doc) > ${max}`;
      return `exists (select from ${sourceSql(other, 'referred')} where ${isLarge})`;
    });
    return `(${[...children, ...referred].join(' or ')})`;
  };
  const found = await collection.ids({ ...among(ids), expressions: [exceeds] }, 1, request.run);
  return found.length === 0;
}

/** The collection that a name of `_embed` means, and its field that refers to the records; undefined: there is none. */
function childOf({ collection, related }: Source, name: string) {
  const own = namesOf(related.map(({ resource }) => resource.name)).get(name);
  const child = related.find(({ resource }) => resource.name === own);
  const field = child && referenceTo(child.resource, collection.resource);
  return child && field !== undefined ? { child, resource: child.resource, field } : undefined;
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
  const found = childOf(source, name);
  if (found === undefined) {
    for (const record of records) setMember(record, name, []);
    return true;
  }
  const { child, resource, field } = found;
  requireReadable(resource, request.principal);
  const column = resource.columns.get(field)!.name;
  const ids = records.map(({ id }) => String(id));
  const documents = await child.referring(column, ids, Number.MAX_SAFE_INTEGER, request.run);
  if (documents === undefined) return false;
  for (const record of records)
    setMember(record, name, JSON.parse(`[${documents.get(String(record.id)) ?? ''}]`) as Json);
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

/** The beginning of the name of a collection whose records the service's own one of the former name refused in an import. */
const REFUSED = /^legacy_/;

/** The names that a collection may have had in the file of a json-server, for which an import gave it another one. */
function formerNamesOf(name: string): string[] {
  const plain = name.replace(REFUSED, '');
  const camel = plain.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const names = new Set([plain, camel, plain.replaceAll('_', '-')]);
  names.delete(name);
  return [...names];
}

/** The collections by the names that lead to them: their own, and former ones that no other has. */
export function namesOf(collections: readonly string[]): ReadonlyMap<string, string> {
  const former = collections.flatMap((name) => formerNamesOf(name).map((each) => [each, name] as const));
  return new Map([...former, ...collections.map((name) => [name, name] as const)]);
}
