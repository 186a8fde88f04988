import { MAX_RELATED } from '../../../src/features/api-docs/filter-parameters.js';
import type { JsonObject } from '../../../src/json.js';
import { declaredService } from '../../support/callers.js';
import { makeKey } from '../../support/credentials.js';
import type { TestService } from '../../support/service.js';
import t from '../../support/test.js';
import { words } from '../../support/words.js';

const text = { type: 'string', 'x-index': true } as const;
const to = (collection: string) => ({ type: 'string', 'x-references': collection }) as const;
const object = (properties: object, options?: object) => ({
  type: 'object',
  properties,
  ...(options && { 'x-collection': options }),
});

const DECLARATIONS = {
  'teams.json': object({
    name: { ...text, 'x-search': true },
    size: { type: 'integer', 'x-index': true },
    isOpen: { type: 'boolean', 'x-index': true },
    since: { ...text, format: 'date-time' },
    tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
    password: { type: 'string', writeOnly: true },
    note: { type: 'string' },
  }),
  'people.json': object(
    { name: text, salary: { type: 'number', 'x-index': true }, teamId: to('teams') },
    {
      access: [
        { can: 'read', fields: ['name'] },
        { can: 'all', scope: 'staff' },
      ],
    },
  ),
  'projects.json': object({
    title: text,
    team_id: to('teams'),
    leaderId: to('people'),
    parentId: to('projects'),
    memberIds: { type: 'array', maxItems: 9, items: to('teams') },
  }),
  // Names that are operators, combinations, or syntax of addresses.
  'peculiar.json': object({ in: text, 'a],b': text, or: text, andId: to('teams') }),
  'odd.json': object({ friend: text, friendId: to('peculiar'), notId: to('peculiar'), 'x]Id': to('teams') }),
};

interface Parameter {
  readonly name: string;
  readonly schema: JsonObject;
}

/** The parameters of the lists of a document that are conditions over relations, by the paths of the lists. */
async function relatedOf(
  service: TestService,
  document: string,
  headers: Record<string, string> = {},
): Promise<Record<string, Parameter[]>> {
  const { json } = await service.send('GET', document, { headers });
  const { parameters } = json.components as { parameters: Record<string, Parameter> };
  const paths = json.paths as Record<string, { get?: { parameters: { $ref?: string }[] } }>;
  return Object.fromEntries(
    Object.entries(paths).map(([path, { get }]) => [
      path,
      (get?.parameters ?? []).flatMap(({ $ref = '' }) => {
        const [, name] = /^#\/components\/parameters\/(\w+Related\d+\w*)$/.exec($ref) ?? [];
        return name === undefined ? [] : [parameters[name]!];
      }),
    ]),
  );
}

const namesOf = (parameters: readonly Parameter[] | undefined) => (parameters ?? []).map(({ name }) => name);

/** A value that a parameter permits. */
function valuesFor({ type, format, items, minItems }: JsonObject): string[] {
  if (type === 'array') return Array(Number(minItems)).fill(valuesFor(items as JsonObject)[0]!);
  if (type === 'number') return ['1.5'];
  if (type === 'boolean') return ['true'];
  if (format === 'uuid') return ['01a20900-0000-7000-8000-000000000000'];
  return [format === 'date-time' ? '2026-01-31T12:00:00Z' : 'Core, etc.'];
}

t.test('each condition over a relation that the document has is one that lists accept', async (t) => {
  const service = await declaredService(t, DECLARATIONS);
  for (const [document, prefix] of [
    ['/openapi.json', ''],
    ['/api/v2/openapi.json', '/api/v2'],
  ] as const) {
    const related = await relatedOf(service, document);
    for (const [path, parameters] of Object.entries(related))
      for (const { name, schema } of parameters) {
        const query = new URLSearchParams(valuesFor(schema).map((value): [string, string] => [name, value]));
        const { status, text: body } = await service.send('GET', `${prefix}${path}?${query}`);
        t.equal(status, 200, `${path}?${query}: ${body}`);
      }
    const projects = namesOf(related['/projects']);
    for (const name of words(`
      filter[members][some][name] filter[team][name] filter[team][name][in] filter[team][name][contains]
      filter[team][size][between] filter[team][isOpen] filter[team][since][gte] filter[team][tags][any]
      filter[leader][teamId] filter[parent][title][prefix]
    `))
      t.ok(projects.includes(name), name);
    // Only declared fields by which lists can be filtered.
    for (const name of projects) t.notMatch(name, /password|note|_version|created_at/);
    const odd = namesOf(related['/odd']);
    const names = 'filter[friend][\\or] filter[friend][a\\]\\,b] filter[\\not][in] filter[x\\]][name]';
    for (const name of words(names)) t.ok(odd.includes(name), `${name} of ${odd}`);
    t.notOk(odd.includes('filter[friend][in]'), 'the operator of the field that is called as the relation');
    t.same(namesOf(related['/teams']), []);
  }
});

t.test('a document has the fields of collections that its reader may read', async (t) => {
  const service = await declaredService(t, DECLARATIONS, { AUTH: 'api-key' });
  const namesFor = async (...scopes: string[]) => {
    const { key } = await makeKey(service.db, { scopes });
    const related = await relatedOf(service, '/openapi.json', { 'x-api-key': key });
    return namesOf(related['/projects']).join('\n');
  };
  for (const [scopes, has, lacks] of [
    [['projects:read'], /\[parent\]/, /\[team\]|\[leader\]/],
    [['projects:read', 'teams:read'], /\[team\]\[name\]/, /\[leader\]/],
    [['projects:read', 'people:read'], /\[leader\]\[salary\]/, /\[team\]/],
    [['admin'], /\[leader\]\[salary\]/, /password/],
  ] as const) {
    const names = await namesFor(...scopes);
    t.match(names, has, scopes.join());
    t.notMatch(names, lacks, scopes.join());
  }
});

t.test('the conditions over relations are limited, and begin with equality', async (t) => {
  const properties = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`field${n}`, text]));
  const references = Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`wide${n}Id`, to('wide')]));
  const service = await declaredService(t, {
    'wide.json': object(properties),
    'referring.json': object(references),
  });
  const names = namesOf((await relatedOf(service, '/openapi.json'))['/referring']);
  t.equal(names.length, MAX_RELATED);
  t.equal(new Set(names).size, MAX_RELATED);
  const equal = Array.from({ length: 5 }, (_, n) =>
    Object.keys(properties).map((each) => `filter[wide${n}][${each}]`),
  );
  t.same(names.slice(0, 60), equal.flat());
  t.match(names[60], /\[in\]$/);
});
