import type { Version } from './version.js';

export const V1: Version = {
  number: '1',
  mount: '/api/v1',
  links: 'root',
  lists: 'numbered',
  errors: { isAlwaysProblem: false, requestId: 'requestId', failures: 'errors' },
  locatesNested: false,
};
