import type { Version } from './version.js';

export const V2: Version = {
  number: '2',
  mount: '/api/v2',
  links: 'mount',
  lists: 'keyset',
  errors: { isAlwaysProblem: true, requestId: 'request_id', failures: 'details' },
  locatesNested: true,
};
