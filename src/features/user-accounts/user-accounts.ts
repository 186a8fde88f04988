import { hash } from 'node:crypto';
import { timeOf } from '../../actions/secret-reply.js';
import { ID, TEXTS, TIME_OR_NULL } from '../../api/doc.js';
import type { Endpoint } from '../../api/endpoint.js';
import type { InputSchema, Kind } from '../../api/kind.js';
import { type KnownScopes, managedEndpoints, type Store, type Stored } from '../../api/managed-endpoints.js';
import { scopesOf } from '../../auth/principal.js';
import { scopeFault, setUserScopes } from '../../auth/user-scopes.js';
import type { Db, Row } from '../../db/db.js';
import { fill, statements } from '../../db/statements.js';
import { invalid } from '../../errors/input-errors.js';
import { ABOVE_IDS } from '../../uuid.js';
import { compileOnFirstUse } from '../../validation/validation.js';

// biome-ignore format: one name a line says no more
const USER_ACCOUNTS_SQL = statements('features/user-accounts/user-accounts.sql', [
  'accounts', 'lock_account', 'disable_user', 'end_sessions', 'enable_user', 'remove_second_factors',
]);

const SCHEMA = {
  type: 'object',
  required: [],
  additionalProperties: false,
  properties: {
    scopes: { type: 'array', maxItems: 50, uniqueItems: true, items: { type: 'string', maxLength: 100 } },
    disabled: { type: 'boolean' },
    second_factor: { type: 'boolean' },
    sessions: {
      type: 'integer',
      minimum: 0,
      description: '0 ends all sessions, and what applications have obtained. Nothing else can be set.',
    },
  },
} as const satisfies InputSchema;

/** The accounts of the users that sign in: what an operator decides about them. A user itself is a record. */
const ACCOUNT: Kind = {
  path: '/user-accounts',
  type: 'Account',
  singular: 'user',
  one: 'the account of a user',
  many: 'accounts',
  order: 'newest first',
  limit: 100,
  homeLink: { name: 'accounts', position: 12 },
  about:
    'What a user may do beyond its own records, and how it signs in. A disabled user cannot sign in, and its tokens, sessions and keys have ended.',
  canChange: true,
  input: () => SCHEMA,
  members: () => ({
    id: ID,
    email: { type: ['string', 'null'] },
    scopes: TEXTS,
    disabled: { type: 'boolean' },
    disabled_at: TIME_OR_NULL,
    has_password: { type: 'boolean' },
    passkeys: { type: 'integer' },
    second_factor: { type: 'boolean' },
    sessions: { type: 'integer' },
  }),
  page: {
    columns: ['email', 'scopes', 'disabled', 'sessions'],
    user: 'id',
    inputs: (scopes) => ({
      scopes: { items: { type: 'string', enum: scopes } },
      disabled: {
        description: 'Ends sessions and tokens for good, and keys until you enable the user again.',
      },
      second_factor: { description: 'Clear it to remove the app, the recovery codes and all passkeys.' },
      sessions: { const: 0, 'x-button': 'End all sessions' },
    }),
  },
};

interface AccountInput {
  readonly scopes: readonly string[];
  readonly disabled: boolean;
  /** Only the user adds one. */
  readonly second_factor: boolean;
  readonly sessions: number;
}

interface Account extends AccountInput, Stored {
  readonly members: Readonly<Record<string, unknown>>;
}

/** A change is examined with all members of the account, so that null is invalid: no member has a default. */
const check = compileOnFirstUse({
  schema: { ...SCHEMA, required: Object.keys(SCHEMA.properties) },
  normalize: {},
});

const accountsSql = (which: string): string => fill(USER_ACCOUNTS_SQL.accounts, { which });

/** Accounts begin and end with the records of users. */
export const STORED_ACCOUNTS: Store<Account, AccountInput, KnownScopes, { readonly db: Db }> &
  Required<Pick<Store<Account, AccountInput, KnownScopes, unknown>, 'change'>> = {
  read: ({ scopes: known }, body, before) => {
    const { scopes, disabled, second_factor, sessions } = check(body).fields as unknown as AccountInput;
    const failures = scopes.flatMap((scope, index) => {
      const message = scopeFault(scope, known);
      return message === undefined ? [] : [{ path: `/scopes/${index}`, message, keyword: 'enum' }];
    });
    if (second_factor && before?.second_factor === false)
      failures.push({ path: '/second_factor', message: 'can be added by the user only', keyword: 'const' });
    if (sessions !== 0 && sessions !== before?.sessions)
      failures.push({ path: '/sessions', message: 'must be 0, which ends all', keyword: 'const' });
    if (failures.length > 0) throw invalid(failures);
    return { scopes, disabled, second_factor, sessions };
  },
  list: async (db, after, max) =>
    (await db.run(accountsSql('users.id < $1'), [after ?? ABOVE_IDS, max])).map(accountOf),
  get: async ({ run }, id) => {
    const [row] = await run(accountsSql('users.id = $1'), [id, 1]);
    return row && accountOf(row);
  },
  change: (db, id, change) =>
    db.transaction(async (run) => {
      const read = async () => {
        const [row] = await run(accountsSql('users.id = $1'), [id, 1]);
        return row && accountOf(row);
      };
      await run(USER_ACCOUNTS_SQL.lock_account, [id]);
      const before = await read();
      if (!before) return undefined;
      const { scopes, disabled, second_factor, sessions } = change(before);
      if (sessions < before.sessions) await run(USER_ACCOUNTS_SQL.end_sessions, [id]);
      if (scopes.join() !== before.scopes.join()) await setUserScopes({ run }, id, scopes);
      if (disabled !== before.disabled)
        await run(disabled ? USER_ACCOUNTS_SQL.disable_user : USER_ACCOUNTS_SQL.enable_user, [id]);
      if (before.second_factor && !second_factor) await run(USER_ACCOUNTS_SQL.remove_second_factors, [id]);
      return read();
    }),
  shown: ({ members }) => members,
};

/** The services that endpoints of accounts run with. */
export type UserAccountServices = KnownScopes & { readonly db: Db };

export const ACCOUNTS: readonly Endpoint<UserAccountServices>[] = managedEndpoints(ACCOUNT, STORED_ACCOUNTS);

/** The version is a number of the content: several tables have it. */
function accountOf({ scopes: granted, disabled: at, ...others }: Row): Account {
  const scopes = [...scopesOf(granted)];
  const disabled = typeof at === 'number';
  const members = { ...others, scopes, disabled, disabled_at: timeOf(disabled ? at : undefined) };
  const version = 1 + hash('sha1', JSON.stringify(members), 'buffer').readUIntBE(0, 6);
  const own = { second_factor: others.second_factor === true, sessions: Number(others.sessions) };
  return { id: String(others.id), version, scopes, disabled, ...own, members };
}
