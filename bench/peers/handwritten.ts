import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import FindMyWay from 'find-my-way';
import postgres from 'postgres';
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

/** A server as a careful developer writes it by hand: node:http, a router, a validator, a driver with a pool. */
const sql = postgres(process.env.DATABASE_URL!, { max: 4 });
const run: Run = (name, args) => sql.unsafe(SQL[name], args as never[], { prepare: true });

type Handler = (req: IncomingMessage, res: ServerResponse, route: Route) => Promise<void> | void;

interface Route {
  readonly id: string | undefined;
  readonly query: Readonly<Record<string, unknown>>;
}

class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const router = FindMyWay();
const add = (path: string, handlers: Record<string, Handler>) =>
  router.on('GET', path, () => undefined, handlers);

add('/users', {
  GET: async (_req, res) => {
    const rows = (await run('allUsers', [])) as Row[];
    send(res, 200, rows.map(recordOf));
  },
  POST: async (req, res) => {
    const fields = await readBody(req);
    if (!isNewUser(fields)) throw new Refused(400, 'The body is not a user.');
    const [row] = (await run('createUser', createArgs(fields))) as Row[];
    res.setHeader('Location', `/users/${row!.id}`);
    sendRecord(res, 201, row!);
  },
});

add('/users/:id', {
  GET: async (req, res, { id }) => {
    const row = await findUser(id);
    if (req.headers['if-none-match'] === etagOf(row)) res.writeHead(304, { ETag: etagOf(row) }).end();
    else sendRecord(res, 200, row);
  },
  PATCH: async (req, res, { id }) => {
    if (!isUuid(id)) throw new Refused(404, 'No such user.');
    const fields = await readBody(req);
    if (!isUserPatch(fields)) throw new Refused(400, 'The body is not a change of a user.');
    const [row] = (await run('patchUser', patchArgs(id, fields))) as Row[];
    if (!row) throw new Refused(404, 'No such user.');
    sendRecord(res, 200, row);
  },
});

add('/items', {
  GET: async (_req, res, { query }) => send(res, 200, await readPage(run, query)),
});

async function findUser(id: string | undefined): Promise<Row> {
  const [row] = isUuid(id) ? ((await run('getUser', [id])) as Row[]) : [];
  if (!row) throw new Refused(404, 'No such user.');
  return row;
}

const etagOf = ({ version }: Row) => `"${version}"`;

function sendRecord(res: ServerResponse, status: number, row: Row): void {
  res.setHeader('ETag', etagOf(row));
  send(res, status, recordOf(row));
}

function send(res: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  res
    .writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
    .end(body);
}

const BODY_LIMIT = 1_048_576;

async function readBody(req: IncomingMessage): Promise<unknown> {
  const type = req.headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (!JSON_TYPES.includes(type)) throw new Refused(415, 'The body is not JSON.');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req) {
    size += (chunk as Buffer).length;
    if (size > BODY_LIMIT) throw new Refused(413, 'The body is too large.');
    chunks.push(chunk as Buffer);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    throw new Refused(400, 'The body is not valid JSON.');
  }
}

async function respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
  try {
    const found = router.find('GET', req.url!);
    if (!found) throw new Refused(404, 'No such path.');
    const handler = (found.store as Record<string, Handler>)[req.method!];
    if (!handler) {
      res.setHeader('Allow', Object.keys(found.store).join(', '));
      throw new Refused(405, 'No such method here.');
    }
    await handler(req, res, { id: found.params.id, query: found.searchParams });
  } catch (error) {
    refuse(res, error);
  }
}

function refuse(res: ServerResponse, error: unknown): void {
  if (error instanceof Refused) return send(res, error.status, { error: error.message });
  if (isDuplicate(error)) return send(res, 409, { error: 'The address is already in use.' });
  console.error(error);
  send(res, 500, { error: 'Internal error.' });
}

listen(createServer((req, res) => void respond(req, res)));
