import { pause } from './pause.js';
import { send } from './send.js';

type Properties = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** A process of a service of books, and which lists its declaration permits. */
export interface Target {
  readonly base: string;
  /** Whether lists can be filtered and sorted by the price. */
  readonly isSortable: boolean;
  readonly isSearchable: boolean;
}

export function targetOf(base: string, { books }: Readonly<Record<string, object>>): Target {
  const { properties } = books as { readonly properties: Properties };
  return {
    base,
    isSortable: properties.price?.['x-index'] === true,
    isSearchable: Object.values(properties).some((each) => each['x-search'] === true),
  };
}

/**
 * Clients of several processes behind a balancer, which gives each request to the next process of `targets`, and repeats it
 * elsewhere if its connection is refused.
 */
export class Writers {
  targets: readonly Target[];
  rounds = 0;
  readonly unexpected: string[] = [];
  #isDone = false;
  #requests = 0;
  readonly #ended: Promise<unknown>;

  constructor(first: Target, author: string, count: number) {
    this.targets = [first];
    this.#ended = Promise.all(Array.from({ length: count }, (_, key) => this.#work(author, key)));
    // The caller waits for it later.
    this.#ended.catch(() => undefined);
  }

  async end(): Promise<void> {
    this.#isDone = true;
    await this.#ended;
  }

  async #work(author: string, key: number): Promise<void> {
    for (let round = 0; round < 3 || !this.#isDone; round++) {
      if (round > 2000) throw new Error('the migration does not end');
      await this.#round(author, `${key}-${round}`, round);
      this.rounds++;
      // The pace of clients that leave processor time to the migration.
      await pause(500);
    }
  }

  async #round(author: string, isbn: string, price: number): Promise<void> {
    const fields = { name: 'n', price, tags: ['a'], note: 'x', authorId: author };
    const create = (more: object) => ({ ...fields, ...more });
    const { json } = await this.#expect([201], 'POST', '', create({ isbn }));
    const id = String(json?.id);
    await this.#expect([201, 409], 'POST', '', create({ isbn }));
    await this.#expect([201, 422], 'POST', '', create({ authorId: id }));
    await this.#expect([200], 'PATCH', `/${id}`, { price: price + 1 });
    await this.#expect([200], 'PUT', `/${id}`, create({ isbn, price: 5 }));
    await this.#batch(id, fields);
    await this.#expect([200], 'GET', (target) =>
      target.isSortable ? '?page=1&limit=3&sort=-price' : '?page=1&limit=3',
    );
    await this.#expect([200], 'GET', ({ isSearchable }) => (isSearchable ? '?search=nnn&page=1' : ''));
    await this.#expect([200], 'GET', (target) =>
      target.isSortable ? '?filter[price][gte]=2&limit=2&page=1' : '?page=2&limit=2',
    );
    await this.#expect([200], 'GET', `/${id}`);
    await this.#expect([204], 'DELETE', `/${id}`);
  }

  async #batch(id: string, fields: object): Promise<void> {
    const response = await this.#send('POST', () => '/batch', [
      { method: 'POST', path: '/books', body: fields },
      { method: 'PATCH', path: `/books/${id}`, body: { name: 'm' } },
    ]);
    const statuses = response.json?.results?.map(({ status }: { status: number }) => status) ?? [];
    if (response.status !== 200 || statuses.join() !== '201,200')
      this.unexpected.push(`batch ${response.status} ${statuses} ${response.text.slice(0, 300)}`);
  }

  async #expect(
    statuses: readonly number[],
    method: string,
    rest: string | ((target: Target) => string),
    body?: object,
  ) {
    const pathOf = (target: Target) => `/books${typeof rest === 'string' ? rest : rest(target)}`;
    const response = await this.#send(method, pathOf, body);
    if (!statuses.includes(response.status))
      this.unexpected.push(`${method} ${rest} ${response.status} ${response.text.slice(0, 300)}`);
    return response;
  }

  async #send(method: string, pathOf: (target: Target) => string, body?: object) {
    for (;;) {
      const target = this.targets[this.#requests++ % this.targets.length]!;
      try {
        return await send(target.base, method, pathOf(target), body === undefined ? {} : { body });
      } catch (error) {
        const isRefused = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
        // The targets may have changed meanwhile.
        if (!isRefused || this.targets.every((each) => each === target)) throw error;
      }
    }
  }
}
