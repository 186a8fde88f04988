import { secretReply, timeOf } from '../../actions/secret-reply.js';
import { json, objectOf, TEXT, TIME } from '../../api/doc.js';
import { at, type Endpoint } from '../../api/endpoint.js';
import type { Principal } from '../../auth/principal.js';
import type { Row } from '../../db/db.js';
import { secondFactorRequired } from '../../errors/caller-errors.js';
import { invalid } from '../../errors/input-errors.js';
import { absent } from '../../errors/record-errors.js';
import type { Auth } from '../../feature.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import type { JsonObject } from '../../json.js';
import { compileOnFirstUse } from '../../validation/validation.js';
import { CHANGES, change } from './factor-changes.js';
import { ISSUER_SQL } from './issuer-statements.js';
import { confirmPassword, inRequest } from './present-request.js';
import { hasTwoFactors } from './sign-in-methods.js';
import type { SignInParts } from './sign-in-parts.js';
import { findUser, type User } from './user-claims.js';

/** The ways in which a user signs in, as programs see them. */
export type Ways = Awaited<ReturnType<typeof waysOf>>;

export async function waysOf({ db }: Pick<SignInParts, 'db'>, user: User) {
  const [issuers, [app], passkeys] = await Promise.all([
    db.run(ISSUER_SQL.issuers_of_user, [user.id]),
    db.run(ISSUER_SQL.find_totp, [user.id]),
    db.run(ISSUER_SQL.passkeys_of, [user.id]),
  ]);
  const added = ({ created }: Row) => ({ added_at: timeOf(Number(created) * 1000)! });
  const known = (row: Row) => ({ id: String(row.id), ...added(row) });
  return {
    password: user.passwordVersion !== undefined,
    app: app ? { ...added(app), recovery_codes: Number(app.codes) } : null,
    passkeys: passkeys.map((row) => ({ ...known(row), only_after_password: row.is_second === true })),
    issuers: issuers.map((row) => ({ ...known(row), issuer: String(row.issuer) })),
  };
}

const TEXT_FIELD = { type: 'string', maxLength: 16_384 } as const;

const CHANGE = {
  type: 'object',
  required: ['action'],
  additionalProperties: false,
  properties: {
    action: { type: 'string', enum: Object.keys(CHANGES) },
    ...{ secret: TEXT_FIELD, code: TEXT_FIELD, response: TEXT_FIELD, token: TEXT_FIELD, id: TEXT_FIELD },
    email: TEXT_FIELD,
    current_password: {
      ...{ type: 'string', maxLength: 256 },
      description: 'The password, unless you sign in by Basic.',
    },
  },
} as const;

const check = compileOnFirstUse({ schema: CHANGE, normalize: {} });

/** The services that the endpoints about the ways of signing in run with. */
export interface WaysServices {
  readonly accounts: Auth['accounts'];
  readonly parts: () => SignInParts;
}

const PATH = '/account/ways';
const OF_USER = { scopes: ['self'] };

/** The ways in which the user of a request signs in. */
export const WAYS: readonly Endpoint<WaysServices>[] = [
  {
    ...at('GET', PATH, OF_USER),
    doc: {
      id: 'getSignInWays',
      tag: 'authorization',
      summary: 'The ways in which you sign in',
      success: { 200: json('The ways.', 'SignInWays', ['Cache-Control']) },
      errors: [['NOT_FOUND', 'simple']],
    },
    schemas: () => ({
      SignInChange: CHANGE as unknown as JsonObject,
      SignInWays: objectOf({
        password: { type: 'boolean' },
        app: {
          ...objectOf({ added_at: TIME, recovery_codes: { type: 'integer' } }),
          type: ['object', 'null'],
        },
        passkeys: {
          type: 'array',
          items: objectOf({ id: TEXT, added_at: TIME, only_after_password: { type: 'boolean' } }),
        },
        issuers: { type: 'array', items: objectOf({ id: TEXT, issuer: TEXT, added_at: TIME }) },
      }),
    }),
    run: async ({ parts }, { principal }) =>
      secretReply(200, await waysOf(parts(), await userOf(parts(), principal))),
  },
  {
    ...at('POST', PATH, OF_USER),
    notInBatch: 'ways of signing in',
    offers: [JSON_TYPE],
    doc: {
      id: 'changeSignInWays',
      tag: 'authorization',
      summary: 'Add or remove a way in which you sign in',
      body: { [JSON_TYPE]: 'SignInChange' },
      success: {
        200: json('The ways, and in `shown` what is shown once.', 'SignInWays', ['Cache-Control']),
      },
      errors: [
        ...['VALIDATION_ERROR', 'CURRENT_PASSWORD_REQUIRED', 'CURRENT_PASSWORD_WRONG', 'PASSWORD_NOT_SET'],
        ...['SECOND_FACTOR_REQUIRED'],
        ['NOT_FOUND', 'simple'],
      ],
    },
    run: changeWays,
  },
];

async function userOf({ db }: SignInParts, { subject }: Principal): Promise<User> {
  const user = await findUser(db, subject);
  if (!user) throw absent('user', 'simple');
  return user;
}

/** Changes how the caller signs in, or requests the messages that confirm a change: 200, 400, 403, 404, 429. A caller with a second factor has proved one. */
async function changeWays({ accounts, parts }: WaysServices, request: Request): Promise<Reply> {
  const { principal, body, headers } = request;
  const user = await userOf(parts(), principal);
  const input = check(body?.value).fields as Readonly<Record<string, string | undefined>>;
  const isComplete = hasTwoFactors(principal.claims?.amr as readonly string[] | undefined);
  if (!isComplete && (user.hasTotp || user.hasPasskey)) throw secondFactorRequired(['self']);
  const own = { principal, permission: 'own' } as const;
  const confirmation = { email: undefined, password: '', currentPassword: input.current_password };
  const verified = await accounts.confirm(own, user.id, confirmation);
  return inRequest(async () => {
    if (verified) confirmPassword(user.id, verified.version);
    const { fault, shown, missing } = await change(parts(), headers, user, (name) => input[name] ?? '');
    if (missing !== undefined) throw absent(missing, 'simple');
    if (fault) throw invalid([{ ...fault, keyword: 'sign-in' }]);
    return secretReply(200, { ...(await waysOf(parts(), user)), ...(shown && { shown }) });
  });
}
