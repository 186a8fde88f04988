import { JSON_TYPE } from '../collection/representation.js';
import type { Action } from '../http/router.js';

/** Shows the principal of the request's credential: 200, 401. */
export const whoami: Action = {
  offers: [JSON_TYPE],
  run: ({ principal: { subject, scopes, scheme, expiresAt } }) => ({
    status: 200,
    // A shared cache must not show one caller's identity to another.
    headers: ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'],
    body: JSON.stringify({
      subject,
      scopes: [...scopes],
      scheme,
      expires_at: expiresAt === undefined ? null : new Date(expiresAt * 1000).toISOString(),
    }),
  }),
};
