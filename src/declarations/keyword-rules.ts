import { nearest } from '../errors/edit-distance.js';
import { KEYWORDS } from '../validation/ajv.js';
import { FIELD_KEYWORDS, isGiven } from './field-keywords.js';
import type { Place, Role } from './places.js';
import { type Rule, rule, where } from './rule.js';

/** The keywords of the service that have an effect in the schema of a field, of an item and of a member. */
const EFFECTIVE: Partial<Readonly<Record<Role, ReadonlySet<string>>>> = {
  field: new Set([...FIELD_KEYWORDS, 'default']),
  items: new Set(['x-references', 'x-on-delete']),
  member: new Set(['default']),
  secret: new Set(['default']),
};
const MEANINGFUL: ReadonlySet<string> = new Set([...FIELD_KEYWORDS, 'default', 'x-collection']);

/** Rules about the keywords of the service, wherever a collection's schema leads: one without effect may be meant to protect. */
export const KEYWORD_RULES: readonly Rule<Place>[] = where(
  ({ role }) => isApplied(role),
  [
    rule(
      '/*',
      (place, _, [name]) => `unknown keyword: "${name}"${nearest(name!, KEYWORDS)}${reached(place)}`,
      (_, __, [name]) => name!.startsWith('x-') && !KEYWORDS.includes(name!),
    ),
    rule(
      '/*',
      (place, _, [name]) => `has no effect here: ${properPlace(name!, place.role)}${reached(place)}`,
      ({ role, schema, file, pointer }, _, [name]) =>
        MEANINGFUL.has(name!) &&
        !EFFECTIVE[role]?.has(name!) &&
        !(name === 'x-collection' && pointer === '' && !file.startsWith('_')) &&
        isGiven(schema, name!),
    ),
    rule(
      '/properties/__proto__',
      'cannot be declared: no rule of it would be checked',
      (_, value) => value !== undefined,
    ),
    rule(
      '/default',
      'a field that is never returned cannot have a default: each patch would set it again',
      ({ role, schema }, value) =>
        value !== undefined && (role === 'secret' || (role === 'field' && schema.writeOnly === true)),
    ),
    rule(
      '',
      'leads back to itself by a reference: its validation would not end',
      ({ isEndless }) => isEndless,
    ),
  ],
);

/** Whether a schema is more than a definition. */
export const isApplied = (role: Role): boolean => role !== 'definition' && role !== 'unused';

const reached = ({ from }: Place): string => (from === undefined ? '' : `. It is referred to in ${from}`);

function properPlace(keyword: string, role: Role): string {
  if (keyword === 'x-collection') return 'it belongs at the top of the file of a collection';
  if (keyword === 'default') return 'only members of objects that are always validated get a default';
  const items = EFFECTIVE.items!.has(keyword) ? ', in the items of one' : '';
  const several =
    keyword === 'x-unique' && role === 'record'
      ? '. A key of several fields belongs to /x-collection/unique'
      : '';
  return `it belongs to a field of the record, in /properties/<field>${items}, or in what that refers to by $ref or allOf${several}`;
}
