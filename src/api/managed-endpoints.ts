import { hash } from 'node:crypto';
import { forwardReply, secretReply } from '../actions/secret-reply.js';
import { whileSignedIn } from '../auth/accounts.js';
import type { Principal } from '../auth/principal.js';
import type { Db, Row, Value } from '../db/db.js';
import { absent, preconditionFailed } from '../errors/record-errors.js';
import { badRequest } from '../errors/request-errors.js';
import { evaluate, matchesStrongly, readConditions } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import { isObject, type Json, type JsonObject } from '../json.js';
import { parseUuid } from '../uuid.js';
import type { Endpoint } from './endpoint.js';
import type { Kind } from './kind.js';
import { creating, describeKind } from './managed-docs.js';

/** A database whose changes may be part of a transaction. */
export type Changeable = Pick<Db, 'run' | 'transaction'>;

/** Something stored. Without a version it never changes. */
export interface Stored {
  readonly id: string;
  readonly version?: number;
}

/** A stored thing, and its secret, which is shown once; undefined: it has none. */
export interface Created<Item> {
  readonly item: Item;
  readonly secret: string | undefined;
}

type Shown<Item> = Pick<Created<Item>, 'item'> & Partial<Created<Item>>;

/** The scopes that managed resources may have. */
export interface KnownScopes {
  readonly scopes: readonly string[];
}

/**
 * How managed resources of one kind are read from requests, by the rules of the service, stored with its services, and shown. `caller`:
 * absent for commands, which the operator runs.
 */
export interface Store<Item extends Stored, Input, Rules, Services> {
  /** The id in a path; undefined: nothing has it. By default a UUID. */
  readonly idOf?: (text: string) => string | undefined;
  /** Validates the fields of a new one, or of a present one after a change. Throws 400. */
  readonly read: (rules: Rules, body: Json | undefined, before?: Item) => Input;
  /** Runs before a creation. */
  readonly prepare?: (services: Services) => Promise<void>;
  readonly create?: (db: Changeable, input: Input, caller?: Principal) => Promise<Created<Item>>;
  /** The resources after an id in the order of the list, up to `max`. */
  readonly list: (
    db: Db,
    after: string | undefined,
    max: number,
    caller?: Principal,
  ) => Promise<readonly Item[]>;
  readonly get: (db: Db, id: string, caller?: Principal) => Promise<Item | undefined>;
  /** Changes the fields, one change at a time. Undefined: there is none with this id. */
  readonly change?: (
    db: Changeable,
    id: string,
    change: (before: Item) => Input,
  ) => Promise<Item | undefined>;
  /** Whether there was one. `permit` receives what is about to be deleted, and may throw. */
  readonly remove?: (
    services: Services,
    id: string,
    permit: (current: Item | undefined) => void,
    caller?: Principal,
  ) => Promise<boolean>;
  /** Creates another secret. Undefined: there is none with this id. */
  readonly rotate?: (db: Changeable, id: string) => Promise<Created<Item> | undefined>;
  /** The members of a response, besides those that any record has. */
  readonly shown: (item: Item) => Readonly<Record<string, unknown>>;
}

/** The statements of a table of managed resources. */
interface TableStatements {
  /** Of those after an id, some: the first id comes before all others in the order of the list. */
  readonly list: string;
  readonly firstId: string;
  readonly get: string;
  /** Reads one that is about to be changed or deleted. */
  readonly lock: string;
  /** Has the id as its first argument, then those of the fields. */
  readonly change: string;
  readonly remove: string;
}

/** How resources of a table are read, changed and deleted. */
export const inTable = <Item extends Stored, Input>(
  sql: TableStatements,
  itemOf: (row: Row) => Item,
  argumentsOf: (input: Input, before: Row) => readonly Value[],
): Required<
  Pick<Store<Item, Input, unknown, { readonly db: Db }>, 'list' | 'get' | 'change' | 'remove'>
> => ({
  list: async (db, after, max) => (await db.run(sql.list, [after ?? sql.firstId, max])).map(itemOf),
  get: async (db, id) => {
    const [row] = await db.run(sql.get, [id]);
    return row && itemOf(row);
  },
  change: (db, id, change) =>
    db.transaction(async (run) => {
      const [row] = await run(sql.lock, [id]);
      if (!row) return undefined;
      const [changed] = await run(sql.change, [id, ...argumentsOf(change(itemOf(row)), row)]);
      return itemOf(changed!);
    }),
  remove: ({ db }, id, permit) =>
    db.transaction(async (run) => {
      const [row] = await run(sql.lock, [id]);
      permit(row && itemOf(row));
      if (row) await run(sql.remove, [id]);
      return row !== undefined;
    }),
});

/** The body of a creation or a replacement, or with the fields `before` that of a merge patch (RFC 7396) with the others. */
export function inputOf(
  { ignored = [], input }: Kind,
  body: Json | undefined,
  before?: Readonly<Record<string, unknown>>,
): Json | undefined {
  if (!isObject(body)) return body;
  const given = Object.fromEntries(Object.entries(body).filter(([name]) => !ignored.includes(name)));
  if (!before) return given;
  const names = Object.keys(input([]).properties);
  return { ...Object.fromEntries(names.map((name) => [name, before[name]])), ...given } as JsonObject;
}

/** The endpoints of managed resources of one kind. */
export function managedEndpoints<Item extends Stored, Input, Rules, Services extends { readonly db: Db }>(
  kind: Kind,
  store: Store<Item, Input, Rules, Services>,
): Endpoint<Rules & Services>[] {
  const described = describeKind(kind);
  const actions = new ManagedActions(kind, store);
  return [
    { ...described.list, run: actions.list },
    ...(store.create ? [{ ...creating(described.create), run: actions.create }] : []),
    { ...described.get, run: actions.get },
    ...(kind.canChange && store.create ? [{ ...described.replace, run: actions.replace }] : []),
    ...(kind.canChange ? [{ ...described.change, run: actions.patch }] : []),
    ...(store.remove ? [{ ...described.remove, run: actions.remove }] : []),
    ...(kind.rotation === undefined ? [] : [{ ...creating(described.rotate), run: actions.rotate }]),
  ];
}

class ManagedActions<Item extends Stored, Input, Rules, Services extends { readonly db: Db }> {
  constructor(
    readonly kind: Kind,
    readonly store: Store<Item, Input, Rules, Services>,
  ) {}

  /** Lists a page of them, after `?after=<id>`: 200, 304, 400, 412. */
  readonly list = async ({ db }: Services, request: Request): Promise<Reply> => {
    const { path, limit, singular } = this.kind;
    const given = request.query.parameters.get('after');
    const after = parseUuid(given ?? '');
    if (given !== null && after === undefined) throw badRequest(`\`after\` must be the id of a ${singular}.`);
    const found = await this.store.list(db, after, limit + 1, request.principal);
    const page = found.slice(0, limit);
    const next = found.length > limit ? `${path}?after=${page.at(-1)!.id}` : null;
    const hasLinks = request.version.lists === 'keyset';
    const data = page.map((item) => {
      const { _links, ...members } = this.#membersOf(request, item);
      return hasLinks ? { ...members, _links } : members;
    });
    const reply = forwardReply(request, { data, limit, next });
    const etag = `"${hash('sha1', reply.body!, 'base64url')}"`;
    return isUnchanged(request, etag)
      ? unchanged(etag)
      : { ...reply, headers: [...reply.headers, 'ETag', etag] };
  };

  /** Creates one, whose secret is shown once: 201, 400, and the errors of its kind. */
  readonly create = async (services: Rules & Services, request: Request): Promise<Reply> => {
    const { store } = this;
    const input = store.read(services, inputOf(this.kind, request.body?.value));
    await store.prepare?.(services);
    const created = await whileSignedIn(services.db, request, (db) =>
      store.create!(db, input, request.principal),
    );
    return this.#reply(request, created, 201);
  };

  /** Shows one: 200, 304, 404, 412. */
  readonly get = async ({ db }: Services, request: Request): Promise<Reply> => {
    const id = this.#idIn(request);
    const found = id === undefined ? undefined : await this.store.get(db, id, request.principal);
    return this.#reply(request, { item: this.#required(found) });
  };

  /** Replaces all fields; missing ones get their defaults: 200, 400, 404, 412. */
  readonly replace = (services: Rules & Services, request: Request): Promise<Reply> =>
    this.#change(services, request, () => undefined);

  /** Changes fields with a merge patch (RFC 7396): 200, 400, 404, 412. */
  readonly patch = (services: Rules & Services, request: Request): Promise<Reply> =>
    this.#change(services, request, this.store.shown);

  /** Deletes one: 204, also if it does not exist, and 412. */
  readonly remove = async (services: Services, request: Request): Promise<Reply> => {
    const permit = (current: Item | undefined) => this.#requireMatch(request, current);
    const id = this.#idIn(request);
    if (id === undefined) permit(undefined);
    else await this.store.remove!(services, id, permit, request.principal);
    return { status: 204, headers: [] };
  };

  /** Creates another secret, which is shown once: 200, 404. */
  readonly rotate = async ({ db }: Services, request: Request): Promise<Reply> => {
    const id = this.#idIn(request);
    const rotated = id && (await whileSignedIn(db, request, (db) => this.store.rotate!(db, id)));
    return this.#reply(request, this.#required(rotated || undefined));
  };

  async #change(
    services: Rules & Services,
    request: Request,
    retained: (before: Item) => Readonly<Record<string, unknown>> | undefined,
  ): Promise<Reply> {
    const { kind, store } = this;
    const id = this.#idIn(request);
    const changed =
      id &&
      (await whileSignedIn(services.db, request, (db) =>
        store.change!(db, id, (before) => {
          this.#requireMatch(request, before);
          return store.read(services, inputOf(kind, request.body?.value, retained(before)), before);
        }),
      ));
    return this.#reply(request, { item: this.#required(changed || undefined) });
  }

  /** One, with `_version`, `_links` and an ETag as records have: 200, or `status` after a write. Throws 412. */
  #reply(request: Request, { item, secret }: Shown<Item>, status = 200): Reply {
    const { method, prefix } = request;
    const etag = etagOf(item);
    if ((method === 'GET' || method === 'HEAD') && isUnchanged(request, etag)) return unchanged(etag);
    const secrets = secret === undefined ? {} : { [this.kind.secret!]: secret };
    const location = status === 201 ? ['Location', `${prefix}${this.kind.path}/${item.id}`] : [];
    const reply = secretReply(status, this.#membersOf(request, item, secrets), ['ETag', etag, ...location]);
    return { ...reply, isSecret: secret !== undefined };
  }

  /** Throws 412 unless If-Match fits; `current` is undefined if there is nothing. */
  #requireMatch(request: Request, current: Item | undefined): void {
    const match = readConditions(request.headers)?.match;
    if (match === undefined) return;
    if (!current) throw preconditionFailed();
    const etag = etagOf(current);
    if (!matchesStrongly(match, etag)) throw preconditionFailed(etag, this.#membersOf(request, current));
  }

  #membersOf({ prefix }: Request, item: Item, secrets: Readonly<Record<string, string>> = {}) {
    const href = `${prefix}${this.kind.path}/${item.id}`;
    const own = { _version: item.version ?? 1, _links: { self: { href, method: 'GET' } } };
    return { ...this.store.shown(item), ...secrets, ...own };
  }

  /** The id in the path; undefined: nothing has it. */
  #idIn({ params }: Request): string | undefined {
    const { idOf = parseUuid } = this.store;
    return idOf(params.id ?? '');
  }

  /** Throws 404. */
  #required<T>(found: T | undefined): T {
    if (found === undefined) throw absent(this.kind.singular, 'simple');
    return found;
  }
}

const etagOf = ({ version = 1 }: Stored) => `"${version}"`;

/** Whether the client has the current representation. Throws 412. */
function isUnchanged({ headers }: Request, etag: string): boolean {
  const conditions = readConditions(headers);
  const outcome = conditions ? evaluate(conditions, { etag, modified: undefined }) : 200;
  if (outcome === 412) throw preconditionFailed(etag);
  return outcome === 304;
}

const unchanged = (etag: string): Reply => ({
  status: 304,
  headers: ['ETag', etag, 'Cache-Control', 'no-store'],
});
