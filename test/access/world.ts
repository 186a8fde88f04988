import type { Json, JsonObject } from '../../src/json.js';
import type { Data } from '../list/evaluator.js';
import type { Draw } from '../list/tracker.js';
import { declare } from '../support/collections.js';
import { AUDIENCE, claims, sign, signingKey, testIssuer } from '../support/issuer.js';
import {
  freshService,
  type SendOptions,
  type ServiceResponse,
  undeclaredDatabase,
} from '../support/service.js';
import type { Test } from '../support/test.js';
import { recordsIn } from '../support/words.js';
import {
  type DrawnRules,
  declarationsOf,
  drawRecord,
  NAMES,
  type Name,
  REGIONS,
  ROLES,
  STATUSES,
  TAGS,
} from './drawn-rules.js';
import { type Caller, Model } from './model.js';

const COUNTS: Readonly<Record<Name, number>> = {
  people: 6,
  teams: 5,
  memberships: 14,
  issues: 26,
  comments: 26,
};

/** A service with drawn rules, data and callers, beside the model of them. */
export class World {
  model!: Model;
  readonly callers: Caller[] = [];
  /** The requests of callers. */
  requests = 0;
  #tokens = 0;

  private constructor(
    readonly t: Test,
    readonly service: Awaited<ReturnType<typeof freshService>>,
    readonly rules: DrawnRules,
    readonly admin: Caller,
    readonly draw: Draw,
  ) {}

  static async open(t: Test, rules: DrawnRules, draw: Draw): Promise<World> {
    const key = await signingKey('es');
    const issuer = await testIssuer(t, key);
    const service = await freshService(t, {
      COLLECTIONS: declare(
        t,
        declarationsOf(rules, () => draw.pick(['page', 'array'])),
      ),
      AUTH: 'bearer',
      ISSUER: issuer.url,
      AUDIENCE,
      MCP: 'on',
      DATABASE_URL: await undeclaredDatabase(t),
    });
    const caller = async (
      label: string,
      subject: string,
      scopes: string[],
      own: JsonObject,
    ): Promise<Caller> => {
      const token = await sign(key, claims(issuer.url, { ...own, sub: subject, scope: scopes.join(' ') }));
      return { label, subject, scopes, claims: own, headers: { authorization: `Bearer ${token}` } };
    };
    const world = new World(t, service, rules, await caller('admin', 'operator', ['admin'], {}), draw);
    await world.#fill();
    await world.#meet(caller);
    return world;
  }

  async #fill(): Promise<void> {
    await this.refresh();
    for (const name of NAMES) for (let n = COUNTS[name]; n > 0; n--) await this.add(name);
    await this.refresh();
  }

  /** Stores a record as the operator. Another record may have its unique value. */
  async add(name: Name): Promise<void> {
    const { status, json } = await this.service.send('POST', `/${name}`, {
      body: this.record(name),
      headers: this.admin.headers,
    });
    if (status === 201) (this.model.data[name] as JsonObject[]).push(json);
    else if (status !== 409) throw new Error(JSON.stringify(json));
  }

  /** Adds records to collections that have become small. */
  async replenish(): Promise<void> {
    const small = NAMES.filter((name) => this.model.data[name]!.length < COUNTS[name] / 2);
    for (const name of small) for (let n = COUNTS[name] / 2; n > 0; n--) await this.add(name);
    if (small.length > 0) await this.refresh();
  }

  record(name: Name): JsonObject {
    const { pick } = this.draw;
    const idOf = (of: Name) => {
      const all = this.model.data[of]!;
      return all.length === 0 ? undefined : String(pick(all).id);
    };
    return drawRecord(name, idOf, () => this.token(), this.draw);
  }

  /** A text that no record has. */
  token(): string {
    return `~${(++this.#tokens + 0x1000_0000).toString(16)}`;
  }

  async #meet(
    caller: (label: string, subject: string, scopes: string[], own: JsonObject) => Promise<Caller>,
  ): Promise<void> {
    const { pick, maybe, next } = this.draw;
    const own = (): JsonObject => {
      const drawn: Record<string, Json | undefined> = {
        region: pick(REGIONS),
        roles: pick<Json>([[pick(ROLES), pick(ROLES)], pick(ROLES), [], [null, {}]]),
        status: pick(STATUSES),
        max: pick<Json>([next(5), String(next(5)), 'many']),
        tag: pick(TAGS),
        tags: [pick(TAGS), 'x"y\\z'],
        teams: [...this.model.data.teams!.slice(0, 2).map(({ id }) => id!), 'none'],
      };
      return Object.fromEntries(Object.entries(drawn).filter(() => maybe(0.8))) as JsonObject;
    };
    const [ann, bob, cid, dan, eve] = this.model.data.people!.map(({ id }) => String(id));
    const shared = own();
    const writing = NAMES.map((name) => `${name}:write`);
    this.callers.push(
      { label: 'stranger', subject: undefined, scopes: [], claims: {}, headers: {} },
      this.admin,
      await caller('ann', ann!, ['self'], own()),
      await caller('bob', bob!, ['self', 'staff'], own()),
      await caller('cid', cid!, ['self', 'teams:read'], own()),
      await caller('dan', dan!, ['issues:read', 'comments:read', 'people:read'], own()),
      await caller('eve', eve!, writing, own()),
      await caller('robot', 'robot', ['self', 'issues:write'], own()),
      // One person with two tokens, and another one with equal claims.
      await caller('fay of the staff', ann!, ['self', 'staff'], shared),
      await caller('fay of the board', ann!, ['self', 'board'], shared),
      await caller('gus of the board', bob!, ['self', 'board'], shared),
    );
  }

  /** Reads all records again. */
  async refresh(): Promise<Data> {
    const data: Record<string, JsonObject[]> = {};
    for (const name of NAMES) {
      const { status, text } = await this.service.send('GET', `/${name}`, {
        headers: { ...this.admin.headers, accept: 'application/x-ndjson' },
      });
      if (status !== 200) throw new Error(text);
      data[name] = recordsIn(text);
    }
    this.model = new Model(this.rules, data);
    return data;
  }

  /**
   * Sends a request. Its response has no text of a record or field that is hidden from the caller, but for those in `former`, which
   * the caller might read before the record changed.
   */
  async send(
    caller: Caller,
    method: string,
    path: string,
    options: SendOptions = {},
    former = '',
  ): Promise<ServiceResponse> {
    this.requests++;
    const headers = { ...caller.headers, ...options.headers };
    const response = await this.service.send(method, path, { ...options, headers });
    const isWrite = !['GET', 'HEAD', 'QUERY'].includes(method) && !path.startsWith('/mcp');
    if (isWrite && response.status < 300) return response;
    this.requireNoSecrets(caller, response, `${path} ${JSON.stringify(options.body ?? '')} ${former}`);
    return response;
  }

  requireNoSecrets(caller: Caller, { text, headers }: ServiceResponse, sent: string): void {
    const found = `${text} ${JSON.stringify(headers)}`.match(/~\w{8}/g) ?? [];
    if (found.length === 0) return;
    const secrets = new Set(this.model.secrets(caller));
    const shown = found.filter((token) => secrets.has(token) && !sent.replaceAll('%7E', '~').includes(token));
    this.t.same(shown, [], `hidden from ${caller.label}: ${sent} ${text}`);
  }
}
