import { createServer } from 'node:http';
import { listen } from './listen.js';

/** The floor: node:http and nothing else, one constant response of a user's size to every request. */
const BODY = JSON.stringify({
  id: '018bcfe5-6bb7-7c4c-8a42-38a0b923820d',
  email: 'user50000@example.org',
  name: 'User 50000',
  age: 42,
  created_at: '2023-11-14T22:14:10.000Z',
  updated_at: '2023-11-14T22:14:10.000Z',
  _version: 1,
});
const HEADERS = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(BODY) };

const server = createServer((req, res) => {
  req.resume();
  res.writeHead(200, HEADERS).end(BODY);
});
listen(server);
