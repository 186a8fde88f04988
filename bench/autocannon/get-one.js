// Reads users by their ids, at random.
import { pick, run, userIds } from './shared.js';

const ids = await userIds();
await run({ method: 'GET' }, (request) => ({ ...request, path: `/users/${pick(ids)}` }));
