// Reads the first page of the items, with the exact total.
import { run } from './shared.js';

await run({ method: 'GET', path: '/items?page=1&limit=20' });
