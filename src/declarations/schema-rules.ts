import { nearest } from '../errors/edit-distance.js';
import { isObject, type Json, type JsonObject, member } from '../json.js';
import { KEYWORDS } from '../validation/ajv.js';
import { faultOfPattern } from '../validation/pattern.js';
import { OWNED } from '../validation/validation.js';
import { FIELD_KEYWORDS, isGiven } from './field-keywords.js';
import type { Place, Role } from './places.js';
import { type Rule, rule } from './rule.js';

/** The keywords of the service that have an effect in the schema of a field, of an item and of a member. */
const EFFECTIVE: Partial<Readonly<Record<Role, readonly string[]>>> = {
  field: [...FIELD_KEYWORDS, 'default'],
  items: ['x-references', 'x-on-delete'],
  member: ['default'],
};
const FIELD = 'to a field of the record, in /properties/<field>, or in what that refers to by $ref or allOf';
/** Where the keywords of the service belong. */
const PROPER_PLACES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(FIELD_KEYWORDS.map((keyword) => [keyword, FIELD])),
  'x-references': `${FIELD}, or to the items of one`,
  'x-on-delete': `${FIELD}, or to the items of one`,
  'x-collection': 'at the top of the file of a collection',
  default: 'to members of objects that are always validated',
};

/** Rules about the schemas that apply to records. A keyword without effect may be meant to protect. */
export const SCHEMA_RULES: readonly Rule<Place>[] = [
  rule(
    '/*',
    ({ validator }, _, [name]) =>
      `unknown keyword: "${name}"${nearest(name!, Object.keys(validator?.RULES.keywords ?? {}))}`,
    ({ validator }, _, [name]) =>
      validator
        ? !Object.hasOwn(validator.RULES.keywords, name!)
        : name!.startsWith('x-') && !KEYWORDS.includes(name!),
  ),
  rule(
    '/*',
    (_, __, [name]) => `has no effect here: it belongs ${PROPER_PLACES[name!]}`,
    ({ role, schema, file, pointer }, _, [name]) =>
      Object.hasOwn(PROPER_PLACES, name!) &&
      !EFFECTIVE[role]?.includes(name!) &&
      !(name === 'x-collection' && pointer === '' && !file.startsWith('_')) &&
      isGiven(schema, name!),
  ),
  rule(
    '/properties/__proto__',
    'cannot be declared: no rule of it would be checked',
    (_, value) => value !== undefined,
  ),
  rule(
    '/properties/*/default',
    'a field that is never returned cannot have a default: each patch would set it again',
    ({ role, root }, value, [name]) => {
      const field = fieldOf(root.schema, name!);
      const isAlways = role === 'record' || role === 'record-part';
      return value !== undefined && isAlways && isObject(field) && field.writeOnly === true;
    },
  ),
  rule('', 'leads back to itself by a reference: its validation would not end', ({ isEndless }) => isEndless),
  rule(
    '/format',
    ({ validator }, value) =>
      `unknown format "${value}"${nearest(String(value), Object.keys(validator!.formats))}`,
    ({ validator }, value) =>
      typeof value === 'string' && validator && !Object.hasOwn(validator.formats, value),
  ),
  rule(
    '/$ref',
    (_, value) => `can't resolve reference ${value}`,
    (place, value) => typeof value === 'string' && !place.files.referred(place),
  ),
  rule(['/pattern', '/patternProperties/*'], (_, value, [name]) => {
    const pattern = name ?? value;
    return typeof pattern === 'string' ? faultOfPattern(pattern) : undefined;
  }),
  rule(
    ['/required/*', '/dependentRequired/*', '/dependentRequired/*/*', '/dependentSchemas/*'],
    (_, value, names) => `the service sets "${OWNED.has(value) ? value : names.at(-1)}": no body can give it`,
    ({ role }, value, names) => role.startsWith('record') && (OWNED.has(value) || OWNED.has(names.at(-1))),
  ),
];

const fieldOf = ({ properties }: JsonObject, name: string): Json | undefined =>
  isObject(properties) ? member(properties, name) : undefined;
