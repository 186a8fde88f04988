import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { JsonObject } from '../../src/json.js';
import { declare } from '../support/collections.js';
import { foreign, foreignFolder, type TypeGenerator } from '../support/foreign.js';
import { testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { typeFaults } from '../support/type-faults.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const text = { type: 'string' } as const;
const named = (title: string, properties: object = { name: text }) => ({ title, type: 'object', properties });

/** Declarations whose names are difficult for generators, beside usual ones. */
const DECLARATIONS = {
  'authors.json': {
    ...named('Author', { name: { ...text, 'x-index': true, 'x-search': true } }),
    required: ['name'],
  },
  'order_lines.json': {
    ...named('Order line', {
      title: { ...text, maxLength: 100, 'x-index': true, 'x-search': true },
      isbn: { $ref: '#/$defs/isbn-13' },
      other: { $ref: '#/$defs/isbn_13' },
      page: { $ref: '#/$defs/page' },
      price: { type: 'number', 'x-index': true },
      sold: { type: 'boolean', 'x-index': true },
      tags: { type: 'array', items: text, 'x-index': true },
      state: { ...text, enum: ['open', 'closed'], default: 'open', 'x-index': true },
      published: { ...text, format: 'date-time', 'x-index': true },
      place: { $ref: '#/$defs/place' },
      delivery: { $ref: '#/properties/place' },
      cost: { $ref: '_shared.json#/$defs/money' },
      secret: { ...text, writeOnly: true },
      rank: { type: 'integer', readOnly: true },
      'name with spaces': text,
      authorId: { ...text, format: 'uuid', 'x-references': 'authors' },
    }),
    required: ['title', 'state'],
    additionalProperties: false,
    $defs: {
      'isbn-13': { ...text, minLength: 2 },
      isbn_13: text,
      page: text,
      place: {
        type: 'object',
        properties: { street: text, city: { ...text, default: 'Rome' } },
        required: ['street', 'city'],
      },
    },
    'x-collection': { nested: true, list: 'page' },
  },
  '_shared.json': {
    $defs: {
      money: {
        type: 'object',
        properties: { amount: { type: 'number' }, unit: { $ref: '#unit' } },
        required: ['amount', 'unit'],
      },
      unit: { $anchor: 'unit', ...text, enum: ['EUR', 'USD'] },
    },
  },
  'concerts.json': named('Event'),
  'searches.json': named('Query'),
  'first_things.json': named('Thing'),
  'things.json': named('Thing'),
  'keyrings.json': named('Webhook'),
};

interface HeyApi {
  createClient: (options: { input: string; output: string; logs: object }) => Promise<unknown>;
}

interface Orval {
  generate: (options: { input: object; output: object }) => Promise<unknown>;
}

/** The programs of generated clients, in a folder in which they find their packages. */
async function clientsOf(t: Test, documents: Readonly<Record<string, JsonObject>>): Promise<string> {
  const folder = foreignFolder(t, 'typed-clients');
  const { default: openapiTS, astToString } = await foreign<TypeGenerator>('openapi-typescript');
  const { createClient } = await foreign<HeyApi>('@hey-api/openapi-ts');
  const { generate } = await foreign<Orval>('orval');
  for (const [name, document] of Object.entries(documents)) {
    const output = join(folder, name);
    mkdirSync(output);
    const input = join(output, 'openapi.json');
    writeFileSync(input, JSON.stringify(document));
    writeFileSync(join(output, 'schema.d.ts'), astToString(await openapiTS(document)));
    await createClient({ input, output: join(output, 'hey'), logs: { level: 'silent', file: false } });
    const target = join(output, 'orval.ts');
    await generate({ input: { target: input }, output: { target, client: 'fetch', mode: 'single' } });
  }
  cpSync(join(ROOT, 'test/fixtures/typed-clients.ts'), join(folder, 'clients.ts'));
  return folder;
}

const OPTIONS =
  '--noEmit --target es2023 --module esnext --moduleResolution bundler --lib es2023,dom,dom.iterable';

t.test('generated clients of three generators compile, and call both versions', async (t) => {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto' });
  const documentOf = async (path: string) => (await service.send('GET', path)).json as JsonObject;
  const v1 = await documentOf('/openapi.json');
  const folder = await clientsOf(t, { v1, v2: await documentOf('/api/v2/openapi.json') });
  const program = join(folder, 'clients.ts');
  t.same(typeFaults([program, join(folder, 'v2/orval.ts')], OPTIONS), [], 'the clients compile');

  const { schemas } = v1.components as { schemas: Record<string, JsonObject> };
  const names = Object.keys(schemas);
  t.same(
    names.filter((name) => !/^[A-Z][A-Za-z0-9]*$/.test(name)),
    [],
    'names of components are identifiers',
  );
  t.equal(new Set(names.map((name) => name.toLowerCase())).size, names.length);
  t.same(schemas.Event?.required, ['specversion', 'id', 'source', 'type', 'subject', 'time']);
  for (const name of ['ConcertsRecord', 'SearchesRecord', 'KeyringsRecord', 'ThingsRecord'])
    t.ok(schemas[name], `${name} of ${names}`);

  const outfile = join(folder, 'clients.mjs');
  await build({ entryPoints: [program], bundle: true, platform: 'node', format: 'esm', outfile });
  const { useClients } = (await import(pathToFileURL(outfile).href)) as {
    useClients: (baseUrl: string) => Promise<Record<string, string[]>>;
  };
  t.same(await useClients(service.url), {
    first: ['Lamp', 'Ann', 'open'],
    referred: ['EUR', 'Rome'],
    array: ['Ann'],
    elements: ['Ann', 'Desk, used', undefined],
    narrowed: ['Lamp'],
    commas: ['Desk, used'],
    errors: ['VALIDATION_ERROR', 'VALIDATION_ERROR'],
    second: ['Lamp', 'Ann'],
    changed: ['1'],
    hey: ['Lamp'],
    heyElement: ['Ann'],
    hey2: ['Desk, used'],
    orval: ['Lamp'],
    orvalElement: ['Ann'],
    created: ['Chair', 'open'],
  });
});
