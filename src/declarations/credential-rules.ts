import { isObject, type Json, type JsonObject } from '../json.js';
import { type Rule, rule } from './rule.js';

/** The field by which people sign in. */
const SIGN_IN_NAME = 'email';
/** The write-only fields of the collection that people sign in with. Their values are stored apart from its record. */
export const CREDENTIALS: readonly string[] = ['password', 'current_password', 'password_hash'];

/** The steps of a name in a sign-in before it is looked up. */
const NORMALIZED = JSON.stringify(['trim', 'nfc', 'lower']);

type Row = readonly [keyword: string, isWrong: (value: Json | undefined) => boolean, reason: string];

const isNot =
  (expected: Json) =>
  (value: Json | undefined): boolean =>
    value !== expected;
const isGiven = (value: Json | undefined): boolean => value !== undefined && value !== false;
/** A sign-in looks up a name, and hashes a password, up to a number of characters. */
const isOver =
  (characters: number) =>
  (value: Json | undefined): boolean =>
    !(Number(value) <= characters);

const SECRET: readonly Row[] = [
  ['writeOnly', isNot(true), 'must be true: no response may contain a credential'],
  ['type', isNot('string'), 'must be "string"'],
  ['maxLength', isOver(256), 'must be a number up to 256'],
  ...['readOnly', 'x-was', 'x-index', 'x-unique', 'x-search', 'x-references'].map(
    (keyword): Row => [keyword, isGiven, 'a credential cannot have this keyword'],
  ),
];
const HASH: readonly Row[] = [
  ['x-import-only', isNot(true), 'must be true: a request could set any password'],
  ['format', isNot('password-hash'), 'must be "password-hash"'],
];
const NAME: readonly Row[] = [
  ['x-unique', (value) => !isGiven(value), 'must be set: users sign in by it'],
  [
    'x-normalize',
    (value) => JSON.stringify(value) !== NORMALIZED,
    `must be ${NORMALIZED}: users sign in by it`,
  ],
  ['type', isNot('string'), 'must be "string": users sign in by it'],
  ['maxLength', isOver(254), 'must be a number up to 254: users sign in by it'],
  ...['x-references', 'x-import-only', 'writeOnly'].map(
    (keyword): Row => [keyword, isGiven, 'the name that users sign in by cannot have this keyword'],
  ),
];

const ROWS: readonly (readonly [field: string, rows: readonly Row[]])[] = [
  ...CREDENTIALS.map((name) => [name, name === 'password_hash' ? [...SECRET, ...HASH] : SECRET] as const),
  [SIGN_IN_NAME, NAME],
];

/** Rules of the collection with which people sign in: others would publish a credential, or let two users sign in by one name. */
export const CREDENTIAL_RULES = ROWS.flatMap(([field, rows]): Rule<{ readonly schema: JsonObject }>[] => [
  rule(`/properties/${field}`, 'is a credential, and must be an object', (_, value) => !isObject(value)),
  ...rows.map(([keyword, isWrong, reason]) =>
    rule<{ readonly schema: JsonObject }>(`/properties/${field}/${keyword}`, reason, (_, value) =>
      isWrong(value),
    ),
  ),
]);
