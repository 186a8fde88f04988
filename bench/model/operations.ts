import { BUCKET_ROWS } from '../../src/db/row-counts.js';
import { TERMS } from '../harness/data.js';
import type { FixedRequest } from '../harness/fixed-load.js';

/** A table that is measured: how many rows it has, and the ids of some. */
export interface Table {
  readonly rows: number;
  readonly ids: readonly string[];
  /** Paths of records that `create` made and `remove` may delete. */
  readonly created: string[];
}

/** A kind of request whose cost is modelled. */
export interface Operation {
  readonly name: string;
  readonly connections: number;
  readonly writes?: boolean;
  /** Points of operations of one family are fitted together: they are the same statement with other numbers of rows. */
  readonly family: string;
  /** Rows or index entries that a request touches; undefined: as many at every size. */
  touched(rows: number): number;
  /** How many requests a measurement sends. */
  count(rows: number): number;
  next(table: Table): FixedRequest;
}

const PAGE = 20;
/** Of 100,000 prices, a hundredth apart, all are as frequent. */
const PRICES = 1000;

const none = () => 0;
const always = (count: number) => () => count;
const random = (below: number) => Math.floor(Math.random() * below);
const oneOf = <T>(values: readonly T[]): T => values[random(values.length)]!;
const get = (path: string): FixedRequest => ({ method: 'GET', path, status: 200 });
/** As many requests as read about this many rows in all. */
const within = (total: number, touched: (rows: number) => number, max: number) => (rows: number) =>
  Math.max(4, Math.min(max, Math.round(total / touched(rows))));

const middle = (rows: number) => Math.floor(rows / 2);
const tenth = (rows: number) => Math.floor(rows / 10);
const hundredth = (rows: number) => Math.floor(rows / 100);

/** Records in a row-count bucket (src/db/row-counts.ts), from whose start a page is counted; there are as many buckets. */
const bucket = (rows: number) => Math.max(BUCKET_ROWS, Math.round(Math.sqrt(rows)));

/** Records with a price in a range that has so many. */
function filtered(matches: number, { rows }: Table): FixedRequest {
  const width = (matches / rows) * PRICES;
  const from = Math.random() * (PRICES - width);
  const bounds = `filter[price][gte]=${from.toFixed(5)}&filter[price][lt]=${(from + width).toFixed(5)}`;
  return get(`/items?${bounds}&sort=price&limit=${PAGE}`);
}

const search = (term: string) => get(`/items?page=1&limit=${PAGE}&search=${term}`);

function deepPage(sort: string, { rows }: Table): FixedRequest {
  const page = Math.floor(middle(rows) / PAGE) - random(20);
  return get(`/items?page=${page}&limit=${PAGE}${sort}`);
}

let made = 0;

function create({ rows }: Table): FixedRequest {
  const name = `${oneOf(['Small', 'Red', 'Old', 'Plain'])} ${oneOf(['Lamp', 'Chair', 'Desk'])} ${rows + ++made}`;
  const body = JSON.stringify({ name, price: random(100_000) / 100, stock: random(1000) });
  return { method: 'POST', path: '/items', body, status: 201 };
}

function patch({ ids }: Table): FixedRequest {
  const body = JSON.stringify({ price: random(100_000) / 100 });
  return { method: 'PATCH', path: `/items/${oneOf(ids)}`, body, status: 200 };
}

function remove({ created }: Table): FixedRequest {
  const path = created.pop();
  if (path === undefined) throw new Error('there is nothing left to delete');
  return { method: 'DELETE', path, status: 204 };
}

const operation = (
  name: string,
  connections: number,
  count: number | ((rows: number) => number),
  next: (table: Table) => FixedRequest,
  more: Partial<Operation> = {},
): Operation => ({
  name,
  connections,
  family: name,
  touched: none,
  count: typeof count === 'number' ? always(count) : count,
  next,
  ...more,
});

/** Everything that is modelled; `remove` follows `create`, whose records it deletes. */
export const OPERATIONS: readonly Operation[] = [
  operation('read', 64, 8000, ({ ids }) => get(`/items/${oneOf(ids)}`)),
  operation('page 1', 8, 2000, () => get(`/items?page=1&limit=${PAGE}`)),
  operation('deep page', 8, 1000, (table) => deepPage('', table), { touched: bucket }),
  operation('deep page by price', 2, within(6e6, middle, 200), (table) => deepPage('&sort=price', table), {
    touched: middle,
  }),
  operation('filter, 100 matches', 4, 1000, (table) => filtered(100, table), {
    family: 'filter',
    touched: always(100),
  }),
  operation(
    'filter, 1% match',
    4,
    within(5e6, hundredth, 400),
    (table) => filtered(hundredth(table.rows), table),
    {
      family: 'filter',
      touched: hundredth,
    },
  ),
  operation('search, 1,000 matches', 2, 150, () => search(TERMS.rare), {
    family: 'search',
    touched: always(1000),
  }),
  operation('search, 10% match', 2, within(1e6, tenth, 150), () => search(TERMS.common), {
    family: 'search',
    touched: tenth,
  }),
  operation('create', 64, 4000, create, { writes: true }),
  operation('patch', 64, 4000, patch, { writes: true }),
  operation('delete', 64, 4000, remove, { writes: true }),
];

/** A mix of operations, by their part of the requests. */
export type Mix = Readonly<Record<string, number>>;

export const READ_MOSTLY: Mix = {
  read: 0.8,
  'page 1': 0.1,
  'filter, 100 matches': 0.03,
  'search, 1,000 matches': 0.01,
  create: 0.02,
  patch: 0.03,
  delete: 0.01,
};

export const WRITE_MOSTLY: Mix = { read: 0.3, 'page 1': 0.1, 'deep page': 0.05, create: 0.25, patch: 0.3 };
