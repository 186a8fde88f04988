import { hasField, type Resource } from '../collection/resource.js';
import type { Db } from '../db/db.js';
import type { JsonObject } from '../json.js';
import type { Access } from '../list/condition.js';
import { grantFields, partOf } from '../policy/column-mask.js';
import type { Event, Match } from './event.js';
import { admitsEvent, type EventPolicy, type Filter, isCompared, type Live } from './event-filter.js';
import { type Fulfilled, matchStates, type States, statesOf } from './matching.js';

/**
 * The events that a filter admits, as far as its reader may read them, each with what the change means for the conditions of the
 * filter. Of an event whose former record is unknown, the reader may have known it: none that left is missed. Throws 503.
 */
export async function readableEvents(
  db: Db,
  filter: Filter,
  events: readonly Event[],
): Promise<readonly Event[]> {
  const admitted = events.filter((event) => admitsEvent(filter, event));
  if (!isCompared(filter) || admitted.length === 0) return admitted;
  const found = new Map<Event, Event>();
  for (const [name, group] of groupsOf(admitted)) {
    const policies = filter.policies.get(name);
    const read = policies
      ? await eventsByPolicy(db, policies, filter.live, group)
      : await liveEvents(db, filter.live, group);
    for (const [event, shown] of read) found.set(event, shown);
  }
  return admitted.flatMap((event) => found.get(event) ?? []);
}

const collectionOf = ({ type }: Event): string => type.slice(0, type.lastIndexOf('.'));

type Read = readonly (readonly [event: Event, shown: Event])[];

async function liveEvents(db: Db, live: Live | undefined, events: readonly Event[]): Promise<Read> {
  if (!live) return events.map((event) => [event, event] as const);
  const states = events.map((event) => statesOf(live.resource, event));
  const [fulfilled] = await matchStates(db, live.resource, states, [live.conditions]);
  return events.flatMap((event, at) => {
    const match = matchOf(fulfilled![at]!);
    return match ? [[event, { ...event, match }] as const] : [];
  });
}

/** The fields of a record that a reader may read; undefined: all. */
export interface ReadableState {
  readonly fields: readonly string[] | undefined;
}

/** The parts of a record that a reader may read before and after a change; undefined: none, or it is unknown. */
export interface ReadableStates {
  readonly before: ReadableState | undefined;
  readonly after: ReadableState | undefined;
}

/** The parts of records of one collection that a reader may read around changes, by the present state of other records. Throws 503. */
export async function readableStates(
  db: Db,
  resource: Resource,
  { grants, values }: Access,
  events: readonly Event[],
): Promise<ReadableStates[]> {
  const conditions = grants.map((grant) => grant.conditions);
  // A rule that hides a record because of a related one hides it after the deletion of that one as well.
  const given = events.map((event) => statesOf(resource, event));
  const held = await matchStates(db, resource, given, conditions, {
    needsRelated: true,
    symbolValues: values,
  });
  const stateIn = (at: number, side: 'before' | 'after'): ReadableState | undefined => {
    const holding = grants.filter((_, grant) => held[grant]![at]![side] === true);
    if (holding.length === 0) return undefined;
    const fields = grantFields(holding);
    const { seq } = events[at]!;
    return { fields: fields && [...fields].filter((each) => hasField(resource, each, seq)) };
  };
  return events.map((_, at) => ({ before: stateIn(at, 'before'), after: stateIn(at, 'after') }));
}

/**
 * The events of a collection with access rules. A reader gets an event if it might read the record before the change, or may read it
 * after the change; and the record after the change only if it may read that.
 */
async function eventsByPolicy(
  db: Db,
  { resource, access, showsActors }: EventPolicy,
  live: Live | undefined,
  events: readonly Event[],
): Promise<Read> {
  const states = await readableStates(db, resource, access(), events);
  const matches = live && (await maskedMatches(db, live, events, states));
  return events.flatMap((event, at) => {
    const { before, after } = states[at]!;
    if (!before && !after) return [];
    const shown = shownEvent(
      showsActors && isActorShown(event, after) ? event : { ...event, actor: null },
      after,
    );
    if (!matches) return [[event, shown] as const];
    const match = matches[at];
    return match ? [[event, { ...shown, match }] as const] : [];
  });
}

/** Whether the reader may read the record after the change, or might before its deletion. */
const isActorShown = ({ type }: Event, after: ReadableState | undefined): boolean =>
  after !== undefined || type.endsWith('.deleted');

/** An event with the part of the record that its reader may read after the change. */
function shownEvent(event: Event, after: ReadableState | undefined): Event {
  if (event.data === null || (after && !after.fields)) return event;
  return { ...event, data: after ? partOf(event.data, new Set(after.fields)) : null };
}

/** The meaning of changes for conditions, for which the fields are absent that the reader may not read in each state. */
async function maskedMatches(
  db: Db,
  { resource, conditions }: Live,
  events: readonly Event[],
  readable: readonly ReadableStates[],
): Promise<(Match | undefined)[]> {
  const shown = (state: JsonObject | null | undefined, part: ReadableState | undefined) => {
    if (!state || !part) return null;
    const { fields } = part;
    if (!fields) return state;
    const hidden = [...resource.columns].filter(([field]) => !fields.includes(field));
    return { ...state, ...Object.fromEntries(hidden.map(([, { name }]) => [name, null])) };
  };
  const states = events.map((event, at): States => {
    const { before, after } = statesOf(resource, event);
    return { before: shown(before, readable[at]!.before), after: shown(after, readable[at]!.after) };
  });
  const [fulfilled] = await matchStates(db, resource, states, [conditions]);
  return fulfilled!.map(matchOf);
}

function matchOf({ before, after }: Fulfilled): Match | undefined {
  if (after) return before === false ? 'entered' : 'changed';
  return before === false ? undefined : 'left';
}

/** Events by their collections. */
function groupsOf(events: readonly Event[]): ReadonlyMap<string, readonly Event[]> {
  const groups = new Map<string, Event[]>();
  for (const event of events) {
    const group = groups.get(collectionOf(event)) ?? [];
    group.push(event);
    groups.set(collectionOf(event), group);
  }
  return groups;
}
