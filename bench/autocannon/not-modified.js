// Reads one user that the client has already: every response is a 304 as long as nobody changes it.
import { run, userIds } from './shared.js';

const [id] = await userIds();
const url = process.argv[2] ?? 'http://127.0.0.1:3000';
const { headers } = await fetch(`${url}/users/${id}`);
await run({ method: 'GET', path: `/users/${id}`, headers: { 'if-none-match': headers.get('etag') } });
