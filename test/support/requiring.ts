import type { Requirement } from '../../src/auth/principal.js';
import type { Action, Offer, OpenEndpoint } from '../../src/http/router.js';

/** The action for callers that meet the requirement. */
export const requiring = (requires: Requirement, action: Action & Offer): OpenEndpoint => ({
  ...action,
  requires,
});
