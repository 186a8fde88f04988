import { Ajv } from 'ajv';
import formats from 'ajv-formats';

/** The parts that the peers share: the statements, the rules of a body, and the conversion of a row to a record. */

const USER = 'id, email, name, age, extra, version, created_at, updated_at';
const ITEM = 'id, name, price, extra, version, created_at, updated_at';
const MATCHING = "from items where lower(name) like '%' || lower($1) || '%'";

/** Every statement, each prepared once a connection. */
export const SQL = {
  getUser: `select ${USER} from users where id = $1`,
  allUsers: `select ${USER} from users order by created_at, id`,
  createUser: `insert into users (email, name, age, extra) values ($1, $2, $3, $4) returning ${USER}`,
  patchUser: `update users set email = coalesce($2, email), name = coalesce($3, name),
    age = case when $4::boolean then $5::integer else age end, extra = jsonb_strip_nulls(extra || $6),
    version = version + 1, updated_at = now() where id = $1 returning ${USER}`,
  countItems: 'select count(*)::integer as total from items',
  pageItems: `select ${ITEM} from items order by created_at desc, id desc limit $1 offset $2`,
  countBelow: 'select count(*)::integer as total from items where price < $1',
  pageBelow: `select ${ITEM} from items where price < $1 order by created_at desc, id desc limit $2 offset $3`,
  countMatching: `select count(*)::integer as total ${MATCHING}`,
  pageMatching: `select ${ITEM} ${MATCHING} order by created_at desc, id desc limit $2 offset $3`,
};

const RULES = {
  email: { type: 'string', maxLength: 254, format: 'email' },
  name: { type: 'string', minLength: 1, maxLength: 100 },
};
const AGE = { type: 'integer', minimum: 0, maximum: 150 };

/** The rules of a new user, and of a patch to one. */
export const NEW_USER = { type: 'object', required: ['email', 'name'], properties: { ...RULES, age: AGE } };
export const USER_PATCH = {
  type: 'object',
  properties: { ...RULES, age: { ...AGE, type: ['integer', 'null'] } },
};

/** The responses, for a framework that renders by schema. */
const EACH = {
  id: { type: 'string' },
  created_at: { type: 'string' },
  updated_at: { type: 'string' },
  _version: { type: 'integer' },
};
export const USER_RESPONSE = {
  type: 'object',
  additionalProperties: true,
  properties: {
    ...EACH,
    email: { type: 'string' },
    name: { type: 'string' },
    age: { type: ['integer', 'null'] },
  },
};
export const PAGE_RESPONSE = {
  type: 'object',
  properties: {
    data: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: true,
        properties: { ...EACH, name: { type: 'string' }, price: { type: ['number', 'null'] } },
      },
    },
    meta: { type: 'object', additionalProperties: { type: 'integer' } },
  },
};

const ajv = new Ajv({ allowUnionTypes: true });
(formats as unknown as typeof formats.default)(ajv, ['email']);
export const isNewUser = ajv.compile<Fields>(NEW_USER);
export const isUserPatch = ajv.compile<Fields>(USER_PATCH);

/** The types of body that a create or patch takes. */
export const JSON_TYPES = ['application/json', 'application/merge-patch+json'];

export interface Fields {
  readonly email?: string;
  readonly name?: string;
  readonly age?: number | null;
}

export interface Row {
  readonly id: string;
  readonly extra: object;
  readonly version: number;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** A record as it goes to the client. */
export function recordOf({ extra, version, created_at, updated_at, ...own }: Row) {
  return {
    ...own,
    ...extra,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
    _version: version,
  };
}

const OWNED = new Set(['id', 'email', 'name', 'age', 'created_at', 'updated_at', '_version']);

/** The fields that have no column. */
export function extraOf(fields: object): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !OWNED.has(name)));
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

export const isUuid = (text: string | undefined): text is string => text !== undefined && UUID.test(text);

export interface ListQuery {
  readonly page: number;
  readonly limit: number;
  readonly offset: number;
  /** The term to search for, with what `like` would take for a wildcard escaped. */
  readonly term: string | undefined;
  readonly counted: boolean;
}

type Params = Readonly<Record<string, unknown>>;

/** Reads the query of a list: `page`, `limit`, `search`, and `count=0` for a page without the total. */
export function listQueryOf(params: Params): ListQuery {
  const whole = (name: string, fallback: number, max: number) => {
    const value = Number(params[name] ?? fallback);
    return Number.isInteger(value) && value >= 1 && value <= max ? value : fallback;
  };
  const page = whole('page', 1, 1e9);
  const limit = whole('limit', 20, 100);
  const search = params.search;
  const term = typeof search === 'string' && search !== '' ? search.replace(/[\\%_]/g, '\\$&') : undefined;
  return { page, limit, offset: (page - 1) * limit, term, counted: params.count !== '0' };
}

/** A page as it goes to the client. */
export function pageOf({ page, limit }: ListQuery, rows: readonly Row[], total: number | undefined) {
  const counts = total === undefined ? {} : { total, totalPages: Math.ceil(total / limit) };
  return { data: rows.map(recordOf), meta: { page, limit, ...counts } };
}

/** Runs a prepared statement, by its name in SQL. */
export type Run = (name: keyof typeof SQL, args: unknown[]) => Promise<readonly unknown[]>;

/** Reads a page; the total, when it is requested, at the same time. */
export async function readPage(run: Run, params: Params) {
  if (params.below !== undefined) return readBelow(run, params);
  const query = listQueryOf(params);
  const { term, limit, offset, counted } = query;
  const [rows, counts] = await Promise.all([
    term === undefined ? run('pageItems', [limit, offset]) : run('pageMatching', [term, limit, offset]),
    counted ? run(term === undefined ? 'countItems' : 'countMatching', term === undefined ? [] : [term]) : [],
  ]);
  return pageOf(query, rows as Row[], (counts[0] as { total: number } | undefined)?.total);
}

/** The page of the items below a price. */
async function readBelow(run: Run, params: Params) {
  const query = listQueryOf(params);
  const { limit, offset, counted } = query;
  const below = Number(params.below);
  const [rows, counts] = await Promise.all([
    run('pageBelow', [below, limit, offset]),
    counted ? run('countBelow', [below]) : [],
  ]);
  return pageOf(query, rows as Row[], (counts[0] as { total: number } | undefined)?.total);
}

/** The arguments of createUser and patchUser. */
export const createArgs = (fields: Fields) => [
  fields.email,
  fields.name,
  fields.age ?? null,
  extraOf(fields),
];
export const patchArgs = (id: string, fields: Fields) => [
  id,
  fields.email ?? null,
  fields.name ?? null,
  Object.hasOwn(fields, 'age'),
  fields.age ?? null,
  extraOf(fields),
];

/** The unique constraint on the email address was violated. */
export const isDuplicate = (error: unknown) => (error as { code?: string }).code === '23505';
