// Changes one field of users, at random.
import { pick, run, userIds } from './shared.js';

const ids = await userIds();
const headers = { 'content-type': 'application/merge-patch+json' };
await run({ method: 'PATCH', headers }, (request) => ({
  ...request,
  path: `/users/${pick(ids)}`,
  body: JSON.stringify({ age: Math.floor(Math.random() * 150) }),
}));
