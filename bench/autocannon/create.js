// Creates users, each with an address of its own.
import { JSON_BODY, run, tag } from './shared.js';

let count = 0;
await run({ method: 'POST', path: '/users', headers: JSON_BODY }, (request) => ({
  ...request,
  body: JSON.stringify({ email: `${tag}-new-${++count}@example.com`, name: `User ${count}` }),
}));
