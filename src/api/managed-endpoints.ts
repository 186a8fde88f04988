import { whileSignedIn } from '../auth/verified-password.js';
import type { Db } from '../db/db.js';
import { absent } from '../errors/record-errors.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import { isObject, type Json, type JsonObject } from '../json.js';
import { parseUuid } from '../uuid.js';
import type { Endpoint } from './endpoint.js';
import type { Kind } from './kind.js';
import { describeKind } from './managed-docs.js';
import { type ManagedView, managedPage, managedReply, requireMatch } from './managed-replies.js';

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

/** The scopes that managed resources may have. */
export interface KnownScopes {
  readonly scopes: readonly string[];
}

/** How managed resources of one kind are read from requests, by the rules of the service, stored with its services, and shown. */
export interface Store<Item extends Stored, Input, Rules, Services> {
  /** The id in a path; undefined: nothing has it. By default a UUID. */
  readonly idOf?: (text: string) => string | undefined;
  /** Validates the fields of a new one, or of a present one after a change. Throws 400. */
  readonly read: (rules: Rules, body: Json | undefined, before?: Item) => Input;
  /** Runs before a creation. */
  readonly prepare?: (services: Services) => Promise<void>;
  readonly create: (db: Changeable, input: Input) => Promise<Created<Item>>;
  /** The resources after an id in the order of the list, up to `max`. */
  readonly list: (db: Db, after: string | undefined, max: number) => Promise<readonly Item[]>;
  readonly get: (db: Db, id: string) => Promise<Item | undefined>;
  /** Changes the fields, one change at a time. Undefined: there is none with this id. */
  readonly change?: (
    db: Changeable,
    id: string,
    change: (before: Item) => Input,
  ) => Promise<Item | undefined>;
  /** Whether there was one. `permit` receives what is about to be deleted, and may throw. */
  readonly remove: (
    services: Services,
    id: string,
    permit: (current: Item | undefined) => void,
  ) => Promise<boolean>;
  /** Creates another secret. Undefined: there is none with this id. */
  readonly rotate?: (db: Changeable, id: string) => Promise<Created<Item> | undefined>;
  /** The members of a response, besides those that any record has. */
  readonly shown: (item: Item) => Readonly<Record<string, unknown>>;
}

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
    { ...described.create, run: actions.create },
    { ...described.get, run: actions.get },
    ...(kind.canChange
      ? [
          { ...described.replace, run: actions.replace },
          { ...described.change, run: actions.patch },
        ]
      : []),
    { ...described.remove, run: actions.remove },
    ...(kind.rotation === undefined ? [] : [{ ...described.rotate, run: actions.rotate }]),
  ];
}

class ManagedActions<Item extends Stored, Input, Rules, Services extends { readonly db: Db }> {
  constructor(
    readonly kind: Kind,
    readonly store: Store<Item, Input, Rules, Services>,
  ) {}

  /** Lists a page of them, after `?after=<id>`: 200, 304, 400, 412. */
  readonly list = ({ db }: Services, request: Request): Promise<Reply> => {
    const { path, limit, singular } = this.kind;
    const invalid = this.kind.invalidCursor ?? `\`after\` must be the id of a ${singular}.`;
    const page = { path, limit, invalid };
    return managedPage(request, page, (after) => this.store.list(db, after, limit + 1), this.#viewOf);
  };

  /** Creates one, whose secret is shown once: 201, 400, and the errors of its kind. */
  readonly create = async (services: Rules & Services, request: Request): Promise<Reply> => {
    const { store } = this;
    const input = store.read(services, inputOf(this.kind, request.body?.value));
    await store.prepare?.(services);
    const created = await whileSignedIn(services.db, request.principal, (db) => store.create(db, input));
    return this.#withSecret(request, created, 201);
  };

  /** Shows one: 200, 304, 404, 412. */
  readonly get = async ({ db }: Services, request: Request): Promise<Reply> => {
    const id = this.#idIn(request);
    const found = id === undefined ? undefined : await this.store.get(db, id);
    return managedReply(request, this.#viewOf(this.#required(found)));
  };

  /** Replaces all fields; missing ones get their defaults: 200, 400, 404, 412. */
  readonly replace = (services: Rules & Services, request: Request): Promise<Reply> =>
    this.#change(services, request, () => undefined);

  /** Changes fields with a merge patch (RFC 7396): 200, 400, 404, 412. */
  readonly patch = (services: Rules & Services, request: Request): Promise<Reply> =>
    this.#change(services, request, this.store.shown);

  /** Deletes one: 204, also if it does not exist, and 412. */
  readonly remove = async (services: Services, request: Request): Promise<Reply> => {
    const permit = (current: Item | undefined) => requireMatch(request, current && this.#viewOf(current));
    const id = this.#idIn(request);
    if (id === undefined) permit(undefined);
    else await this.store.remove(services, id, permit);
    return { status: 204, headers: [] };
  };

  /** Creates another secret, which is shown once: 200, 404. */
  readonly rotate = async ({ db }: Services, request: Request): Promise<Reply> => {
    const id = this.#idIn(request);
    const rotated = id && (await whileSignedIn(db, request.principal, (db) => this.store.rotate!(db, id)));
    return this.#withSecret(request, this.#required(rotated || undefined), 200);
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
      (await whileSignedIn(services.db, request.principal, (db) =>
        store.change!(db, id, (before) => {
          requireMatch(request, this.#viewOf(before));
          return store.read(services, inputOf(kind, request.body?.value, retained(before)), before);
        }),
      ));
    return managedReply(request, this.#viewOf(this.#required(changed || undefined)));
  }

  #withSecret(request: Request, { item, secret }: Created<Item>, status: number): Reply {
    const secrets = secret === undefined ? {} : { [this.kind.secret]: secret };
    return managedReply(request, this.#viewOf(item), { status, secrets });
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

  readonly #viewOf = (item: Item): ManagedView => ({
    path: `${this.kind.path}/${item.id}`,
    version: item.version ?? 1,
    fields: this.store.shown(item),
  });
}
