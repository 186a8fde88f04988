import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { fileURLToPath } from 'node:url';
import { foreign } from './foreign.js';
import type { Test } from './test.js';

export type Records = Record<string, ({ readonly id: number } & Readonly<Record<string, unknown>>)[]>;

interface JsonServer {
  create: () => { use: (handler: unknown) => void; listen: (port: number, host: string) => Server };
  router: (records: Records) => RequestListener;
  defaults: (options: object) => readonly RequestListener[];
}

/** Starts json-server 0.17 with its own copy of some records. */
export async function jsonServer(t: Test, records: Records): Promise<string> {
  const { create, router, defaults } = (await foreign<{ default: JsonServer }>('json-server')).default;
  const app = create();
  app.use(defaults({ logger: false, static: fileURLToPath(new URL('.', import.meta.url)) }));
  app.use(router(structuredClone(records)));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const GENRES = ['sf', 'crime', 'Poetry', 'drama'];
const WORDS = ['Dune', 'the Sea', 'a Winter', 'Ünder', 'river', '100%', 'Snow (II)', 'light'];

/** Authors, their books, and reviews of these. */
export const LIBRARY: Records = {
  authors: Array.from({ length: 6 }, (_, at) => ({
    id: at + 1,
    name: `Author ${'FCEABD'[at]}`,
    address: { city: ['Ulm', 'Rome', 'Oslo'][at % 3], zip: at },
    'nick.name': `nick ${'CABFED'[at]}`,
    tags: [[], ['a'], ['a', 'b'], ['b', null, [1, 2]]][at % 4],
    motto: ['one\ntwo', 'C++ (new)', 'a_b', 'word by word', 'Äther', ''][at],
  })),
  books: Array.from({ length: 40 }, (_, at) => ({
    id: at + 1,
    title: `${WORDS[at % 8]} ${(at * 17) % 40}`,
    genre: GENRES[(at * 7) % 4],
    price: ((at * 37) % 50) + (at % 2) / 2,
    inPrint: at % 3 === 0,
    authorId: (at % 6) + 1,
    ...(at % 5 === 0 ? {} : { pages: 100 + ((at * 13) % 7) }),
    ...(at % 7 === 0 ? { note: null } : { note: `note ${at}` }),
  })),
  reviews: Array.from({ length: 60 }, (_, at) => ({
    id: at + 1,
    bookId: ((at * 11) % 40) + 1,
    stars: at % 5,
    text: `${WORDS[(at * 3) % 8]}!`,
  })),
};

const text = { type: 'string', maxLength: 200 };
const legacy_id = { type: 'integer', readOnly: true, 'x-unique': true };
const belongs = (to: string) => ({ type: 'string', 'x-references': to, 'x-on-delete': 'cascade' });

/** The declarations of the library: few of the fields, since queries of json-server need none. */
export const LIBRARY_DECLARATIONS = {
  'authors.json': { title: 'Author', type: 'object', properties: { legacy_id, name: text } },
  'books.json': {
    title: 'Book',
    type: 'object',
    properties: { legacy_id, title: text, authorId: belongs('authors') },
    'x-collection': { nested: true },
  },
  'reviews.json': {
    title: 'Review',
    type: 'object',
    properties: { legacy_id, bookId: belongs('books') },
    'x-collection': { nested: true },
  },
};
