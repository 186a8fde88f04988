import { createServer } from 'node:http';
import express, { type ErrorRequestHandler, type Response } from 'express';
import pg from 'pg';
import {
  createArgs,
  isDuplicate,
  isNewUser,
  isUserPatch,
  isUuid,
  JSON_TYPES,
  patchArgs,
  type Row,
  type Run,
  readPage,
  recordOf,
  SQL,
} from './common.js';
import { listen } from './listen.js';

/** The API of the benchmark on Express, with the driver that most servers use. */
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL!, max: 4 });
const run: Run = async (name, values) => (await pool.query({ name, text: SQL[name], values })).rows;
const app = express();

app.disable('x-powered-by');
app.set('etag', false); // the records bring their own
app.use(express.json({ type: JSON_TYPES, limit: '1mb' }));

const refuse = (res: Response, status: number, error: string) => res.status(status).json({ error });

function sendRecord(res: Response, row: Row): void {
  res.set('ETag', `"${row.version}"`).json(recordOf(row));
}

app
  .route('/users')
  .get(async (_req, res) => {
    const rows = (await run('allUsers', [])) as Row[];
    res.json(rows.map(recordOf));
  })
  .post(async (req, res) => {
    if (!isNewUser(req.body)) return refuse(res, 400, 'The body is not a user.');
    const [row] = (await run('createUser', createArgs(req.body))) as Row[];
    return sendRecord(res.status(201).location(`/users/${row!.id}`), row!);
  })
  .all((_req, res) => refuse(res.set('Allow', 'GET, POST'), 405, 'No such method here.'));

app
  .route('/users/:id')
  .get(async (req, res) => {
    const { id } = req.params;
    const [row] = isUuid(id) ? ((await run('getUser', [id])) as Row[]) : [];
    if (!row) return refuse(res, 404, 'No such user.');
    const etag = `"${row.version}"`;
    if (req.headers['if-none-match'] === etag) return res.status(304).set('ETag', etag).end();
    return sendRecord(res, row);
  })
  .patch(async (req, res) => {
    const { id } = req.params;
    if (!isUserPatch(req.body)) return refuse(res, 400, 'The body is not a change of a user.');
    const [row] = isUuid(id) ? ((await run('patchUser', patchArgs(id, req.body))) as Row[]) : [];
    return row ? sendRecord(res, row) : refuse(res, 404, 'No such user.');
  })
  .all((_req, res) => refuse(res.set('Allow', 'GET, PATCH'), 405, 'No such method here.'));

app
  .route('/items')
  .get(async (req, res) => {
    res.json(await readPage(run, req.query));
  })
  .all((_req, res) => refuse(res.set('Allow', 'GET'), 405, 'No such method here.'));

app.use((_req, res) => refuse(res, 404, 'No such path.'));

const onError: ErrorRequestHandler = (error, _req, res, _next) => {
  if (isDuplicate(error)) return void refuse(res, 409, 'The address is already in use.');
  const status = (error as { status?: number }).status ?? 500;
  if (status === 500) console.error(error);
  refuse(res, status, status === 500 ? 'Internal error.' : 'The body is not valid JSON.');
};
app.use(onError);

listen(createServer(app));
