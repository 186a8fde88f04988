import { type Principal, permit, type Requirement } from '../../auth/principal.js';
import { type Reference, type Resource, referredIds } from '../../collection/resource.js';
import type { Run } from '../../db/db.js';
import { invalidBody } from '../../errors/input-errors.js';
import { below, Problem } from '../../errors/problem.js';
import { unknownReference } from '../../errors/record-errors.js';
import type { ScopedCollection } from '../../feature.js';
import { cut } from '../../formats/html.js';
import { type JsonObject, member } from '../../json.js';
import { nextIdentity, parseUuid } from '../../uuid.js';
import { INVITATIONS_SQL } from './accounts-statements.js';
import { invitationRefused } from './errors.js';
import { principalOf } from './new-user.js';

/** Characters of the title of an invitation. */
const MAX_TITLE = 100;

/** The records that an invitation creates, by their collections: one of each, without the field with the invited user. */
export type Creation = Readonly<Record<string, JsonObject>>;

/** The collections of a service, and what the creation of a record requires of a caller. */
export interface Inviting {
  readonly collections: readonly ScopedCollection[];
  readonly requirementOf: (resource: Resource) => Requirement;
}

/**
 * The user that invites, with what it may do by itself: `self` and the scopes that were granted to it, and no claims
 * of a token, since these may be others when the invitation is accepted. Undefined: there is no such user, or it is disabled.
 */
export async function inviterOf(run: Run, subject: string): Promise<Principal | undefined> {
  const id = parseUuid(subject);
  const [row] = id === undefined ? [] : await run(INVITATIONS_SQL.inviter, [id]);
  return row && principalOf(id!, row.scopes);
}

/**
 * Requires that a caller may create the records, for a user that is not known yet. Resolves to the targets of the records, which are their
 * collections with the records to which they refer, and to the title of the invitation. Throws 400, 403, 422.
 */
export async function requireInvitable(inviting: Inviting, create: Creation, caller: Principal, run: Run) {
  // No record has this id, so that conditions about the record of the invited user do not hold.
  const { id } = nextIdentity();
  const targets: string[] = [];
  const titles: string[] = [];
  for (const [name, record] of Object.entries(create))
    try {
      const { whole, input } = await invitedRecord(inviting, name, record, id, caller, run);
      const ids = givenReferences(whole.resource).flatMap((each) => referredIds(input.fields, each));
      targets.push([name, ...ids.map(({ id }) => id).sort()].join(' '));
      titles.push(await titleOf(inviting, whole.resource, input.fields, caller, run));
    } catch (error) {
      throw error instanceof Problem ? below(`/create/${name}`, error) : error;
    }
  return { targets, title: cut(titles.join('; '), MAX_TITLE) };
}

/**
 * A record as people read it, such as "Roof, member": the title of the first record to which each field refers, as the caller reads it,
 * and its choices.
 */
async function titleOf(
  { collections }: Inviting,
  resource: Resource,
  fields: JsonObject,
  caller: Principal,
  run: Run,
): Promise<string> {
  const parts: unknown[] = [];
  const properties = resource.schema.properties as JsonObject;
  for (const [name, value] of Object.entries(fields)) {
    const reference = givenReferences(resource).find(({ field }) => field === name);
    const target = reference && named(collections, reference.to);
    const id = reference && parseUuid(referredIds(fields, reference)[0]?.id ?? '');
    const found = target && id !== undefined && (await target.as({ principal: caller }).get(id, run));
    if (typeof found === 'object') parts.push(JSON.parse(found.doc)[target!.resource.display ?? '']);
    else if (!reference && (member(properties, name) as JsonObject | undefined)?.enum) parts.push(value);
  }
  return parts.filter((part) => typeof part === 'string').join(', ') || resource.singular;
}

/**
 * The record of an invitation for a user, as its inviter may create it. The reference to the user need not be readable for the inviter:
 * the user agrees by accepting. Throws 400, 403, 422.
 */
export async function invitedRecord(
  { collections, requirementOf }: Inviting,
  name: string,
  record: JsonObject,
  userId: string,
  inviter: Principal,
  run: Run,
) {
  const scoped = collections.find(({ resource }) => resource.name === name);
  if (scoped?.resource.invited === undefined) throw invitationRefused();
  const { resource, whole } = scoped;
  permit(inviter, requirementOf(resource), {});
  const collection = scoped.as({ principal: inviter });
  const field = resource.invited!;
  if (Object.hasOwn(record, field))
    throw invalidBody('must be left out: it becomes the user who accepts', 'not', `/${field}`);
  const invited = { [field]: userId };
  const input = collection.check({ ...record, ...invited }, 'request', undefined, inviter.subject);
  for (const reference of givenReferences(resource)) {
    const target = named(collections, reference.to).as({ principal: inviter });
    for (const { id, index } of referredIds(input.fields, reference))
      if (!(await target.exists(id, run))) throw unknownReference(reference.field, reference.singular, index);
  }
  const [error] = (await collection.creationErrors?.([input], run, invited)) ?? [];
  if (error) throw error;
  return { whole, input };
}

const named = (collections: readonly ScopedCollection[], name: string): ScopedCollection =>
  collections.find(({ resource }) => resource.name === name)!;

/** The references that an inviter sets. */
const givenReferences = ({ references, readOnly, invited }: Resource): Reference[] =>
  references.filter(({ field }) => field !== invited && !readOnly.includes(field));
