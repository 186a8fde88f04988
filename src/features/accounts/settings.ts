import { FeatureSettings } from '../../config/config.js';
import type { Reader } from '../../config/env-reader.js';
import { parseJson } from '../../config/parsers.js';

/** The first token of a subject makes a user, or is accepted for a user that exists. */
const MODES = ['create', 'known'] as const;

const MAX_MAPPED = 50;

export type AccountsConfig = Readonly<ReturnType<typeof readAccounts>>;

function readAccounts({ optional }: Reader) {
  return {
    /** Undefined: the subject of a token is the id of a user. */
    usersFromIssuer: optional('USERS_FROM_ISSUER', MODES.join(' or '), (text) =>
      MODES.find((mode) => mode === text),
    ),
    /** The claims that fields of users have as their values, besides email and name. */
    userClaims: optional(
      'USER_CLAIMS',
      `a JSON object of up to ${MAX_MAPPED} fields of users, each with the name or path of a claim: {"department": "dept"}`,
      parseClaims,
    ),
  };
}

function parseClaims(text: string): ReadonlyMap<string, string> | undefined {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value);
  const isValid = entries.every(
    ([field, claim]) => field !== '' && typeof claim === 'string' && claim !== '',
  );
  return isValid && entries.length <= MAX_MAPPED ? new Map(entries as [string, string][]) : undefined;
}

export const ACCOUNTS_SETTINGS = new FeatureSettings({
  read: readAccounts,
  isOn: ({ usersFromIssuer }) => usersFromIssuer !== undefined,
  faults: ({ usersFromIssuer, userClaims }, { auth, issuer }) => {
    if (usersFromIssuer === undefined)
      return userClaims === undefined ? [] : ['USER_CLAIMS needs USERS_FROM_ISSUER=create or known'];
    return auth.includes('bearer') && issuer !== undefined
      ? []
      : ['USERS_FROM_ISSUER needs AUTH=bearer and ISSUER, the issuer of the users'];
  },
});
