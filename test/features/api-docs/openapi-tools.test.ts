import { parse, stringify } from 'yaml';
import { declare } from '../../support/collections.js';
import { makeKey } from '../../support/credentials.js';
import { foreign } from '../../support/foreign.js';
import { testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { ALL_SCHEMES, LIBRARY } from './documented.js';

interface Linter {
  createConfig: (config: { extends: string[] }) => Promise<object>;
  lintFromString: (document: { source: string; config: object }) => Promise<Problem[]>;
}

interface Problem {
  readonly ruleId: string;
  readonly message: string;
  readonly location: readonly { readonly pointer?: string }[];
}

async function lint(t: Test, source: string): Promise<void> {
  const { createConfig, lintFromString } = await foreign<Linter>('@redocly/openapi-core');
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source, config });
  t.same(
    problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
    [],
    'the linter has no findings',
  );
}

const SETTINGS: readonly ((t: Test) => Record<string, string>)[] = [
  () => ({}),
  () => ALL_SCHEMES,
  (t) => ({ COLLECTIONS: declare(t, LIBRARY), MIGRATE: 'auto', EVENTS: 'off', RATE_LIMIT: '1000/60' }),
  (t) => ({
    ...ALL_SCHEMES,
    COLLECTIONS: declare(t, LIBRARY),
    MIGRATE: 'auto',
    RATE_LIMIT: '1000/60',
    TOMBSTONES: 'on',
    REQUIRE_IF_MATCH: 'on',
    V1_DEPRECATION: '2020-01-01T00:00:00Z',
  }),
];

for (const mount of ['', '/api/v2'])
  t.test(`the linter accepts the document at ${mount}/openapi.json, whatever the settings`, async (t) => {
    for (const settings of SETTINGS) {
      const env = settings(t);
      const service = await testService(t, env);
      const key = 'AUTH' in env ? { 'x-api-key': (await makeKey(service.db)).key } : {};
      const json = await service.send('GET', `${mount}/openapi.json`, { headers: key });
      t.equal(json.status, 200);
      await lint(t, json.text);
      const yaml = await service.send('GET', `${mount}/openapi.yaml`, { headers: key });
      t.equal(yaml.headers['content-type'], 'application/yaml');
      t.same(parse(yaml.text), json.json, 'the YAML is the same document');
      const whole = stringify(json.json, { aliasDuplicateObjects: false, lineWidth: 0 });
      t.equal(yaml.text, whole, 'its parts are those of the whole');
    }
  });
