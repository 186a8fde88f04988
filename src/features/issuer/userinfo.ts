import { JSON_TYPE } from '../../collection/representation.js';
import type { Db } from '../../db/db.js';
import { absent } from '../../errors/record-errors.js';
import type { Action } from '../../http/router.js';
import { claimsOf, findUser } from './accounts.js';

/** The claims about the token's user that its scopes grant (OpenID Connect Core section 5.3): 200, 404 for a client. */
export function userinfo(db: Db): Action {
  return {
    offers: [JSON_TYPE],
    run: async ({ principal: { subject, scopes } }) => {
      const user = await findUser(db, subject);
      if (!user) throw absent('user', 'simple');
      return {
        status: 200,
        headers: ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'],
        body: JSON.stringify(claimsOf(user, scopes)),
      };
    },
  };
}
