import Fastify, { type FastifyReply } from 'fastify';
import postgres from 'postgres';
import {
  createArgs,
  type Fields,
  isDuplicate,
  isUuid,
  NEW_USER,
  PAGE_RESPONSE,
  patchArgs,
  type Row,
  type Run,
  readPage,
  recordOf,
  SQL,
  USER_PATCH,
  USER_RESPONSE,
} from './common.js';
import { announce } from './listen.js';

/** The API of the benchmark on Fastify, with schemas for bodies and responses. */
const sql = postgres(process.env.DATABASE_URL!, { max: 4 });
const run: Run = (name, args) => sql.unsafe(SQL[name], args as never[], { prepare: true });
const app = Fastify({ keepAliveTimeout: 65_000, ajv: { customOptions: { allowUnionTypes: true } } });

app.addContentTypeParser(
  'application/merge-patch+json',
  { parseAs: 'string' },
  app.getDefaultJsonParser('error', 'error'),
);

app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
  const status = isDuplicate(error) ? 409 : (error.statusCode ?? 500);
  if (status === 500) console.error(error);
  return reply.code(status).send({ error: status === 500 ? 'Internal error.' : error.message });
});

const missing = (reply: FastifyReply) => reply.code(404).send({ error: 'No such user.' });

app.get('/users', { schema: { response: { 200: { type: 'array', items: USER_RESPONSE } } } }, async () => {
  const rows = (await run('allUsers', [])) as Row[];
  return rows.map(recordOf);
});

app.post<{ Body: Fields }>(
  '/users',
  { schema: { body: NEW_USER, response: { 201: USER_RESPONSE } } },
  async (request, reply) => {
    const [row] = (await run('createUser', createArgs(request.body))) as Row[];
    return reply
      .code(201)
      .headers({ location: `/users/${row!.id}`, etag: `"${row!.version}"` })
      .send(recordOf(row!));
  },
);

app.get<{ Params: { id: string } }>(
  '/users/:id',
  { schema: { response: { 200: USER_RESPONSE } } },
  async (request, reply) => {
    const { id } = request.params;
    const [row] = isUuid(id) ? ((await run('getUser', [id])) as Row[]) : [];
    if (!row) return missing(reply);
    const etag = `"${row.version}"`;
    reply.header('etag', etag);
    return request.headers['if-none-match'] === etag ? reply.code(304).send() : recordOf(row);
  },
);

app.patch<{ Params: { id: string }; Body: Fields }>(
  '/users/:id',
  { schema: { body: USER_PATCH, response: { 200: USER_RESPONSE } } },
  async (request, reply) => {
    const { id } = request.params;
    const [row] = isUuid(id) ? ((await run('patchUser', patchArgs(id, request.body))) as Row[]) : [];
    if (!row) return missing(reply);
    return reply.header('etag', `"${row.version}"`).send(recordOf(row));
  },
);

app.get<{ Querystring: Record<string, unknown> }>(
  '/items',
  { schema: { response: { 200: PAGE_RESPONSE } } },
  async (request) => readPage(run, request.query),
);

await app.listen({ port: 0, host: '127.0.0.1', backlog: 4096 });
announce(app.server);
