import { readChecked } from '../../src/declarations/check-declarations.js';
import { DeclarationError } from '../../src/declarations/read-declarations.js';
import type { Json, JsonObject } from '../../src/json.js';
import { declare } from '../support/collections.js';
import { integersOf } from '../support/runner/random.js';
import { freshService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { seedOf, times } from '../support/thorough.js';
import { words } from '../support/words.js';

const TEXTS = [
  ...words('a ab é 2020-01-01 2020-01-01T00:00:00Z a@b.org % 12:00:00Z P1D'),
  '',
  'x'.repeat(2001),
  '\u{1f600}',
];
const FORMATS = words(`
  date date-time time duration email uuid uri ipv4 regex json-pointer int32 url iso-time byte hostname
`);
const PATTERNS = ['^a*$', '(a|b)+', '^\\p{L}+$', '^x', '^[0-9]{2}$'];
const FIELDS = [
  'name',
  'fullName',
  'order',
  'a b',
  ...words(`
    constructor a/b~c é default items x-index doc version __proto__ a,b -a _x
  `),
];
const REFERENCES = words(`
  # #/$defs/d #/$defs/e #/properties/name #/$defs/none _shared.json#/$defs/s _shared.json #d #e users.json
  betas.json
`);

/** Fields that the service sets. */
const SET: readonly JsonObject[] = [
  { type: 'string', 'x-set': '$caller', 'x-search': 'words' },
  { type: 'string', 'x-set': { value: '$caller', on: 'write' }, 'x-index': true },
  { type: 'string', format: 'date-time', 'x-set': '$now', 'x-unique': true },
  { type: 'string', format: 'date-time', 'x-set': { value: '$now', on: 'write' }, 'x-index': true },
  { type: 'integer', 'x-set': { next: true }, 'x-index': true },
];

/** Makes declarations that are often valid, sometimes strange and sometimes invalid. */
export class Generator {
  readonly next: (below: number) => number;

  constructor(seed: number) {
    this.next = integersOf(seed);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.next(from.length)]!;
  }

  /** True `percent` times of a hundred. */
  often(percent: number): boolean {
    return this.next(100) < percent;
  }

  value(depth = 2): Json {
    const kind = this.next(depth > 0 ? 8 : 6);
    if (kind === 0) return null;
    if (kind === 1) return this.often(50);
    if (kind === 2) return this.pick([0, 1, -1, 7, 1.5, 19.99, 1e21, 1e-7, 2 ** 53]);
    if (kind < 6) return this.pick(TEXTS);
    if (kind === 6) return Array.from({ length: this.next(3) }, () => this.value(depth - 1));
    return Object.fromEntries(
      Array.from({ length: this.next(3) }, () => [this.pick(FIELDS), this.value(depth - 1)]),
    );
  }

  schema(depth: number, isBranch = false): Json {
    if (this.often(3)) return this.often(80);
    const schema: JsonObject = {};
    const add = (percent: number, keyword: string, value: () => Json) => {
      if (this.often(percent)) schema[keyword] = value();
    };
    const type = this.pick(['string', 'string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);
    if (this.often(85)) schema.type = this.often(15) ? [...new Set([type, 'null'])] : type;
    if (type === 'string') {
      add(25, 'format', () => this.pick(FORMATS));
      add(25, 'maxLength', () => this.pick([0, 1, 5, 500, 2000, 2001]));
      add(10, 'minLength', () => this.next(4));
      add(10, 'pattern', () => this.pick(PATTERNS));
    }
    if (type === 'number' || type === 'integer') {
      add(20, 'multipleOf', () => this.pick([0.01, 1, 3, 1e-8, 1.5]));
      add(15, 'minimum', () => this.next(10) - 5);
      add(10, 'exclusiveMaximum', () => this.next(100));
    }
    if (type === 'array' && depth > 0) {
      add(70, 'items', () => this.schema(depth - 1, true));
      add(15, 'prefixItems', () => [this.schema(depth - 1, true)]);
      add(15, 'uniqueItems', () => this.often(70));
      add(10, 'contains', () => this.schema(0, true));
      add(10, 'minContains', () => this.next(3));
      add(10, 'maxItems', () => this.next(4));
    }
    if (type === 'object' && depth > 0) this.members(schema, depth - 1, this.often(70) ? 2 : 0, isBranch);
    add(5, 'enum', () => [this.value(), this.value()]);
    add(3, 'const', () => this.value(1));
    add(isBranch ? 1 : 12, 'default', () => (this.often(90) ? this.like(schema) : this.value()));
    add(5, 'title', () => 'A title');
    add(5, 'description', () => 'It has "quotes" and <tags>.');
    add(3, 'examples', () => [this.value()]);
    add(6, '$ref', () => this.pick(REFERENCES));
    if (depth > 0)
      for (const keyword of ['anyOf', 'oneOf', 'allOf'])
        add(4, keyword, () => [
          this.schema(depth - 1, true),
          this.often(50) ? { type: 'null' } : this.schema(depth - 1, true),
        ]);
    if (depth > 0) add(3, 'not', () => this.schema(0, true));
    add(2, '$id', () => this.pick(['ab', 'cd']));
    add(2, '$dynamicAnchor', () => 'd');
    add(3, '$anchor', () => this.pick(['d', 'e', 'e']));
    if (depth > 0 && this.often(3))
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      Object.assign(schema, { if: this.schema(0, true), then: this.schema(0, true) });
    add(
      1,
      this.pick(
        words(`
        maxLenght x-uniqe nullable discriminator $anchor $id $comment deprecated
      `),
      ),
      () => this.value(0),
    );
    return schema;
  }

  members(schema: JsonObject, depth: number, count: number, isBranch = false): void {
    const names = Array.from({ length: count }, () => this.pick(FIELDS));
    schema.properties = Object.fromEntries(names.map((name) => [name, this.schema(depth, isBranch)]));
    if (this.often(30)) schema.required = [this.often(85) ? (names[0] ?? 'name') : this.pick(FIELDS)];
    if (this.often(15)) schema.additionalProperties = this.often(60) ? false : this.schema(0);
    if (this.often(6)) schema.patternProperties = { [this.pick(PATTERNS)]: this.schema(0) };
    if (this.often(4)) schema.unevaluatedProperties = false;
    if (this.often(4)) schema.dependentRequired = { [this.pick(FIELDS)]: [this.pick(FIELDS)] };
    if (this.often(4)) schema.dependentSchemas = { [this.pick(FIELDS)]: this.schema(0) };
    if (this.often(4)) schema.propertyNames = { maxLength: 20 };
    if (this.often(4)) schema.minProperties = this.next(3);
  }

  field(): Json {
    const field = this.schema(2);
    if (typeof field !== 'object') return field;
    const own: JsonObject = {};
    const type = [(field as JsonObject).type].flat().find((each) => each !== 'null');
    const isStrange = this.often(3);
    const is = (...types: string[]) => isStrange || types.includes(String(type));
    const add = (percent: number, keyword: string, value: () => Json = () => true) => {
      if (this.often(percent)) own[keyword] = value();
    };
    if (is('string', 'number', 'integer', 'boolean')) add(35, 'x-index');
    if (is('string', 'number', 'integer', 'boolean'))
      add(15, 'x-unique', () => this.pick([true, { code: 'A_TAKEN' }]));
    if (is('string')) add(25, 'x-search', () => this.pick([true, 'words']));
    if (is('array')) add(30, 'x-index');
    if (is('string')) add(10, 'x-references', () => this.pick(['users', 'alphas', 'betas']));
    if (own['x-references']) add(50, 'x-on-delete', () => this.pick(['cascade', 'restrict', 'null']));
    if (is('string', 'integer'))
      add(15, 'x-normalize', () => [this.pick(['trim', 'lower', 'integer']), 'trim']);
    if (own['x-references']) delete (field as JsonObject).default;
    if (Object.keys(own).length === 0) add(15, this.pick(['readOnly', 'writeOnly', 'x-import-only']));
    if (!own.readOnly && !own.writeOnly) add(8, 'x-immutable');
    if (this.often(12)) return this.pick(SET);
    if (own.writeOnly) delete (field as JsonObject).default;
    return { ...(field as JsonObject), ...own };
  }

  collection(title: string): JsonObject {
    const schema: JsonObject = { title, type: 'object' };
    this.members(schema, 1, 0);
    const names = Array.from({ length: 1 + this.next(5) }, () => this.pick(FIELDS));
    schema.properties = Object.fromEntries(names.map((name) => [name, this.field()]));
    if (schema.required) schema.required = [names[0]!];
    if (this.often(95)) schema.$defs = { d: this.schema(1), e: this.schema(1) };
    if (this.often(5)) schema.allOf = [this.schema(1)];
    if (this.often(5)) schema.if = this.schema(1);
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    if (schema.if) schema.then = this.schema(1);
    if (this.often(40))
      schema['x-collection'] = {
        list: this.pick(['page', 'array']),
        ...(JSON.stringify(schema.properties).includes('x-references') ? { nested: true } : {}),
        ...(this.often(20) ? { absent: 'empty' } : {}),
        ...this.options(schema.properties as JsonObject),
      };
    return schema;
  }

  options(fields: JsonObject): JsonObject {
    const columns = Object.entries(fields).filter(([, field]) =>
      /"x-(index|unique)"/.test(JSON.stringify(field)),
    );
    const key = columns.slice(0, 2).map(([name]) => name);
    const grants = [
      { can: 'all', fields: key, where: { created_at: { lte: '$now' } } },
      { can: 'read', to: 'anyone' },
    ];
    return {
      ...(this.often(30) ? { history: true } : {}),
      ...(this.often(30) ? { ids: 'client' } : {}),
      ...(this.often(30) ? { index: ['updated_at'] } : {}),
      ...(this.often(30) && JSON.stringify(fields).includes('"words"') ? { language: 'english' } : {}),
      ...(this.often(40) && key.length === 2 ? { unique: [key] } : {}),
      ...(this.often(30) ? { access: [...(key.length > 0 ? [grants[0]!] : []), grants[1]!] } : {}),
    };
  }

  files(): JsonObject {
    return {
      'alphas.json': this.collection('A'),
      'betas.json': this.collection('B'),
      '_shared.json': { $defs: { s: this.schema(1) } },
    };
  }

  /** A value that a schema may accept. */
  like(schema: Json | undefined): Json {
    if (typeof schema !== 'object' || schema === null || this.often(12)) return this.value();
    const { type, enum: values, const: only, properties, items, format } = schema as JsonObject;
    if (only !== undefined) return only;
    if (Array.isArray(values)) return this.pick(values);
    const of = Array.isArray(type) ? type[0] : type;
    if (of === 'object') return this.body({ properties: properties ?? {} });
    if (of === 'array') return Array.from({ length: this.next(3) }, () => this.like(items));
    if (of === 'string') return format === undefined ? this.pick(TEXTS) : this.pick(TEXTS.slice(5));
    if (of === 'number' || of === 'integer') return this.pick([0, 1, 2, 3, 7, 19.99]);
    return of === 'boolean' ? this.often(50) : this.value();
  }

  body(schema: JsonObject): JsonObject {
    const given = Object.entries(schema.properties as JsonObject).filter(() => this.often(75));
    return Object.fromEntries(given.map(([name, field]) => [name, this.like(field)]));
  }
}

/** Everything that a client can do with declared collections responds, and never with 500. */
async function exercise(t: Test, files: JsonObject, folder: string, generator: Generator): Promise<void> {
  const service = await freshService(t, { COLLECTIONS: folder, MIGRATE: 'auto', MCP: 'on' });
  const is = (what: string) => `${what} of ${JSON.stringify(files)}`;
  const request = async (method: string, path: string, body?: Json, headers: Record<string, string> = {}) => {
    const { status, text, json } = await service.send(method, path, { body, headers } as never);
    if (status >= 500)
      t.fail(is(`${method} ${path} ${JSON.stringify(body)}: ${status} ${text.slice(0, 300)}`));
    return { status, json };
  };
  for (const path of ['/openapi.json', '/api/v2/openapi.json'])
    t.not((await request('GET', path)).status, 500, is(path));
  const mcp = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
  const tools = await request('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' } as never, mcp);
  if (tools.status !== 200) t.fail(is(`tools/list: ${tools.status}`));
  for (const name of ['alphas', 'betas']) {
    const schema = files[`${name}.json`] as JsonObject;
    for (let attempt = 0; attempt < 12; attempt++) {
      const body = generator.body(schema);
      const { status, json } = await request('POST', `/${name}`, body);
      if (status !== 201) continue;
      const patch = generator.body(schema);
      await request('PATCH', `/${name}/${json.id}`, patch);
      await request('PUT', `/${name}/${json.id}`, patch);
      await request('GET', `/${name}/${json.id}`, undefined, { accept: 'text/html' });
    }
    for (const field of Object.keys(schema.properties as JsonObject)) {
      const value = generator.value(0);
      await request('QUERY', `/${name}`, { filter: { [field]: value }, sort: [field] } as never);
      await request('QUERY', `/${name}`, { sort: [`-${field}`] } as never);
      for (const group of [field, `month(${field})`, `week(${field})`])
        await request('QUERY', `/${name}`, { group: [group], aggregate: ['count'] } as never);
    }
    for (const accept of ['application/json', 'text/html', 'text/csv'])
      for (const query of ['', '&search=a&excerpts=true'])
        await request('GET', `/${name}?limit=5${query}`, undefined, { accept });
    await request('GET', `/${name}/new`, undefined, { accept: 'text/html' });
    await request(
      'POST',
      '/mcp',
      {
        jsonrpc: '2.0',
        id: 2,
        method: 'tools/call',
        params: { name: `${name}_create`, arguments: { record: generator.body(schema) } },
      } as never,
      mcp,
    );
  }
  await service.stop();
}

/** Declarations of a run, and how many it starts a service with. */
const DRAWN = times(400, 3000, 20_000);
const STARTED = times(2, 15, 150);

t.test('a declaration without a fault never causes a 500', async (t) => {
  const first = seedOf(t);
  let started = 0;
  for (let seed = first; seed < first + DRAWN && started < STARTED; seed++) {
    const generator = new Generator(seed);
    const files = generator.files();
    const folder = declare(t, files);
    try {
      readChecked(folder, '', new Set());
    } catch (error) {
      if (!(error instanceof DeclarationError))
        throw new Error(`check of seed ${seed}: ${JSON.stringify(files)}`, { cause: error });
      continue;
    }
    started++;
    await exercise(t, files, folder, generator).catch((error: Error) =>
      t.fail(`seed ${seed}: ${error.message.slice(0, 500)} of ${JSON.stringify(files)}`),
    );
  }
  t.equal(started, STARTED, 'enough declarations are valid');
});
