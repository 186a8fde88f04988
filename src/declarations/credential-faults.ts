import { isObject, type JsonObject } from '../json.js';
import type { Declaration, DeclarationFault } from './declaration.js';
import { SIGN_IN_FILE } from './read-declarations.js';

/** The field by which people sign in. */
const SIGN_IN_NAME = 'email';
/** The write-only fields of the collection that people sign in with. Their values are stored apart from its record. */
export const CREDENTIALS: readonly string[] = ['password', 'current_password', 'password_hash'];

/** Characters up to which a sign-in looks up a name and hashes a password; those of a hash are those of its formats. */
const MAX_LENGTHS: Readonly<Record<string, number>> = {
  email: 254,
  password: 256,
  current_password: 256,
  password_hash: 256,
};
/** The steps of a name in a sign-in before it is looked up. */
const NORMALIZED = ['trim', 'nfc', 'lower'];

/** The faults that would publish a credential, or let two users sign in by one name. */
export function credentialFaults(collections: readonly Declaration[]): DeclarationFault[] {
  const users = collections.find(({ name }) => `${name}.json` === SIGN_IN_FILE);
  if (users === undefined) return [];
  const { file, schema } = users;
  const properties = (isObject(schema.properties as never) ? schema.properties : {}) as JsonObject;
  const faultsOf = (name: string, rules: (field: JsonObject) => [keyword: string, reason: string][]) => {
    const pointer = `/properties/${name}`;
    const field = properties[name];
    if (!isObject(field)) return [{ file, pointer, reason: 'is a credential, and must be an object' }];
    return rules(field).map(([keyword, reason]) => ({ file, pointer: `${pointer}/${keyword}`, reason }));
  };
  return [
    ...CREDENTIALS.flatMap((name) => faultsOf(name, (field) => secretFaults(name, field))),
    ...faultsOf(SIGN_IN_NAME, nameFaults),
  ];
}

function secretFaults(name: string, field: JsonObject): [string, string][] {
  const isHash = name === 'password_hash';
  const rules: [isValid: boolean, keyword: string, reason: string][] = [
    [field.writeOnly === true, 'writeOnly', 'must be true: no response may contain a credential'],
    [field.type === 'string', 'type', 'must be "string"'],
    [
      Number(field.maxLength) <= MAX_LENGTHS[name]!,
      'maxLength',
      `must be a number up to ${MAX_LENGTHS[name]}`,
    ],
    [
      !isHash || field['x-import-only'] === true,
      'x-import-only',
      'must be true: a request could set any password',
    ],
    [!isHash || field.format === 'password-hash', 'format', 'must be "password-hash"'],
    ...['readOnly', 'x-was', 'x-index', 'x-unique', 'x-search', 'x-references'].map(
      (keyword): [boolean, string, string] => [
        field[keyword] === undefined || field[keyword] === false,
        keyword,
        'a credential cannot have this keyword',
      ],
    ),
  ];
  return rules.flatMap(([isValid, keyword, reason]) => (isValid ? [] : [[keyword, reason]]));
}

function nameFaults(field: JsonObject): [string, string][] {
  const isUnique = field['x-unique'] !== undefined && field['x-unique'] !== false;
  const rules: [isValid: boolean, keyword: string, reason: string][] = [
    [isUnique, 'x-unique', 'must be set: users sign in by it'],
    [
      JSON.stringify(field['x-normalize']) === JSON.stringify(NORMALIZED),
      'x-normalize',
      `must be ${JSON.stringify(NORMALIZED)}: users sign in by it`,
    ],
    [field.type === 'string', 'type', 'must be "string": users sign in by it'],
    [
      Number(field.maxLength) <= MAX_LENGTHS[SIGN_IN_NAME]!,
      'maxLength',
      `must be a number up to ${MAX_LENGTHS[SIGN_IN_NAME]}: users sign in by it`,
    ],
    ...['x-references', 'x-import-only', 'writeOnly'].map((keyword): [boolean, string, string] => [
      field[keyword] === undefined || field[keyword] === false,
      keyword,
      'the name that users sign in by cannot have this keyword',
    ]),
  ];
  return rules.flatMap(([isValid, keyword, reason]) => (isValid ? [] : [[keyword, reason]]));
}
