import type { Json, JsonObject } from '../../src/json.js';
import type { TestService } from '../support/service.js';
import type { Data, RelationOf } from './evaluator.js';
import { referenceIn } from './filters.js';
import { type Draw, HAS_ARRAYS, idsOf, type Schema, store, WORDS } from './tracker.js';

/** The rules of a field, and how a value of it is drawn. */
type Kind = readonly [rules: JsonObject, value: (draw: Draw) => Json];

const INDEX = { 'x-index': true };
const TEXT = { type: 'string', maxLength: 100, ...INDEX };
const formatted = (format: string): JsonObject => ({ type: 'string', format, ...INDEX });
const arrayOf = (items: JsonObject): JsonObject => ({ type: 'array', items, ...INDEX });
const day = ({ next }: Draw) => `202${next(3)}-0${1 + next(3)}-0${1 + next(3)}`;
const some = (draw: Draw, value: (draw: Draw) => Json): Json =>
  Array.from({ length: draw.next(3) }, () => value(draw));
let unique = 0;

const KINDS: readonly Kind[] = [
  [TEXT, ({ pick }) => pick(WORDS)],
  [{ ...TEXT, 'x-search': true }, ({ pick }) => pick(WORDS)],
  [{ type: 'string', 'x-search': true }, ({ pick }) => `${pick(WORDS)} ${pick(WORDS)}`],
  [{ type: 'string', 'x-unique': true }, ({ pick }) => `${pick(WORDS)}${unique++}`],
  [{ type: 'string', enum: ['open', 'closed'], ...INDEX }, ({ pick }) => pick(['open', 'closed'])],
  [{ type: 'integer', ...INDEX }, ({ next }) => next(6) - 2],
  [{ type: 'number', ...INDEX }, ({ next }) => (next(12) - 4) / 4],
  [{ type: 'boolean', ...INDEX }, ({ maybe }) => maybe(0.5)],
  [formatted('date'), day],
  [formatted('date-time'), (draw) => `${day(draw)}T0${draw.next(3)}:00:00.000Z`],
  [formatted('time'), ({ next }) => `0${next(3)}:30:0${next(3)}Z`],
  [formatted('duration'), ({ next }) => `P${1 + next(12)}D`],
  [formatted('uuid'), ({ next }) => `0198c0de-0000-4000-8000-00000000000${next(4)}`],
  [arrayOf({ type: 'string' }), (draw) => some(draw, ({ pick }) => pick(WORDS))],
  [arrayOf({ type: 'integer' }), (draw) => some(draw, ({ next }) => next(5))],
  [arrayOf({ type: 'string', format: 'date' }), (draw) => some(draw, day)],
];

/** Names of fields with a meaning in filters, or with characters that addresses encode. */
const PECULIAR = ['and', 'or', 'not', 'some', 'a b', 'é', 'x,y', 'a[b', 'a]b', 'a=b&c'];
const COLLECTIONS = ['alphas', 'betas', 'gammas', 'deltas', 'epsilons'];

/** Draws declarations of collections, each with some fields, and with references to itself and to those before it, whose records are stored first. */
export function drawSchema({ next, pick, maybe }: Draw): Schema {
  const names = COLLECTIONS.slice(0, 2 + next(COLLECTIONS.length - 1));
  const relations: Record<string, Record<string, RelationOf>> = {};
  const declarations: Record<string, Schema['declarations'][string]> = {};
  for (const name of names) relations[name] = {};
  for (const [at, name] of names.entries()) {
    const properties: Record<string, JsonObject> = {};
    for (let n = 2 + next(5); n > 0; n--)
      properties[maybe(0.3) ? pick(PECULIAR) : `field${n}`] = pick(KINDS)[0];
    for (let n = 1 + next(3); n > 0; n--) {
      const isList = HAS_ARRAYS && maybe(0.4);
      const [to, field] = [pick(names.slice(0, at + 1)), isList ? `link${n}Ids` : `link${n}Id`];
      const id = { type: 'string', 'x-references': to };
      properties[field] = isList
        ? { type: 'array', maxItems: 5, items: { ...id, 'x-on-delete': 'remove' } }
        : { ...id, 'x-on-delete': 'cascade' };
      relations[name]![isList ? `link${n}s` : `link${n}`] = { to, field, isList };
      const { referring = [] } = relations[to]![name] ?? {};
      relations[to]![name] = { to: name, referring: [...referring, field] };
    }
    const options = { 'x-collection': { list: 'page', index: ['updated_at'] } };
    declarations[`${name}.json`] = {
      type: 'object',
      properties,
      ...options,
    } as Schema['declarations'][string];
  }
  return { declarations, relations };
}

/** Stores records of drawn declarations, and returns them as the service shows them. */
export function fillDrawn(service: TestService, draw: Draw, { declarations }: Schema): Promise<Data> {
  const names = Object.keys(declarations).map((file) => file.replace('.json', ''));
  const counts = Object.fromEntries(names.map((name) => [name, 10 + draw.next(30)]));
  return store(service, draw, counts, (idOf) =>
    Object.fromEntries(
      names.map((name) => [
        name,
        () => {
          const { properties } = declarations[`${name}.json`]!;
          const fields = Object.entries(properties).map(([field, rules]): [string, Json] => {
            const reference = referenceIn(rules);
            const kind = KINDS.find(([known]) => known === rules);
            if (reference === undefined) return [field, kind![1](draw)];
            return [field, rules.type === 'array' ? idsOf(draw, () => idOf(reference)) : idOf(reference)];
          });
          return Object.fromEntries(fields);
        },
      ]),
    ),
  );
}
