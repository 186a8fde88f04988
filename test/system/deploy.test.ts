import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { plinth } from '../support/command.js';
import { foreignFile } from '../support/foreign.js';
import { type Manifest, readManifests, schemaFaults, unknownMembers } from '../support/manifests.js';
import { send, testDatabase, testService } from '../support/service.js';
import { readSettings, settings } from '../support/settings.js';
import t from '../support/test.js';
import { words } from '../support/words.js';

const ROOT = new URL('../../../', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, ROOT), 'utf8');
const COMPOSE = fileURLToPath(new URL('deploy/compose.yaml', ROOT));
const compose = parse(read('deploy/compose.yaml'), { merge: true });
const adapter = parse(read('deploy/prometheus-adapter.yaml'));
const dockerfile = read('Dockerfile');
const manifests = readManifests();
const known = new Set(settings());

/** Kinds with pods. */
const PODS = ['Deployment', 'Job'];

const manifest = (kind: string): Manifest => manifests.get(kind)!;
const podOf = (kind: string) => manifest(kind).spec.template.spec;
const containerOf = (kind: string) => podOf(kind).containers[0];

/** The settings of the image, which those of a manifest are added to. */
const IMAGE: Record<string, string> = Object.fromEntries(
  [.../^ENV (.*)$/m.exec(dockerfile)![1]!.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
);

function environmentOf(kind: string): Record<string, string> {
  const entries = containerOf(kind).env.map(({ name, value }: { name: string; value: string }) => [
    name,
    value,
  ]);
  return { ...manifest('Secret').stringData, ...Object.fromEntries(entries) };
}

/** Runs dclint; its findings are its output. */
function dclint(file: string): { status: number | null; stdout: string } {
  const args = [foreignFile('dclint/bin/dclint.cjs'), '--max-warnings', '0', '--formatter', 'compact', file];
  return spawnSync(process.execPath, args, { encoding: 'utf8' });
}

t.test('dclint has no findings in compose.yaml', async (t) => {
  t.match(dclint(COMPOSE), { status: 0, stdout: /^\s*$/ });
});

t.test('dclint finds an unknown key', async (t) => {
  const folder = t.testdir({ 'compose.yaml': read('deploy/compose.yaml').replace('tmpfs:', 'tempfs:') });
  t.match(dclint(`${folder}/compose.yaml`), { status: 1, stdout: /tempfs|additional propert/i });
});

t.test('the manifests follow the schemas and types of the Kubernetes API', async (t) => {
  t.same(
    [...manifests.keys()].sort(),
    words(`
    Deployment HorizontalPodAutoscaler Job NetworkPolicy PodDisruptionBudget Secret Service
  `),
  );
  for (const each of manifests.values()) t.same(await schemaFaults(each), []);
  t.same(unknownMembers(t, [...manifests.values()]), []);
});

t.test('faults in manifests are found', async (t) => {
  const changed = (kind: string, change: (copy: Manifest) => void): Manifest => {
    const copy = structuredClone(manifest(kind));
    change(copy);
    return copy;
  };
  const wrong = [
    changed('Deployment', ({ spec }) => Object.assign(spec, { replicas: 'two' })),
    changed('Deployment', ({ spec }) => delete spec.selector),
    changed('PodDisruptionBudget', ({ spec }) => Object.assign(spec, { unhealthyPodEvictionPolicy: 'No' })),
  ];
  for (const each of wrong) t.equal((await schemaFaults(each)).length, 1);
  const unknown = changed('Deployment', ({ spec }) =>
    Object.assign(spec.template.spec.containers[0], { livenessProb: {} }),
  );
  t.match(unknownMembers(t, [unknown]), [/livenessProb"' does not exist/]);
});

t.test('settings exist and are valid', async (t) => {
  for (const kind of PODS) {
    for (const name of Object.keys(environmentOf(kind))) t.ok(known.has(name), `${kind}: ${name}`);
    t.doesNotThrow(() => readSettings({ ...IMAGE, ...environmentOf(kind) }));
  }
  t.equal(containerOf('Deployment').envFrom[0].secretRef.name, manifest('Secret').metadata.name);
  for (const name of ['migrate', 'plinth']) {
    const { environment } = compose.services[name] as { environment: Record<string, string> };
    for (const setting of Object.keys(environment)) t.ok(known.has(setting), `${name}: ${setting}`);
    t.doesNotThrow(() => readSettings({ ...IMAGE, ...interpolated(environment) }));
  }
});

/** As compose does it, with nothing in its environment but a password. */
function interpolated(environment: Record<string, string>): Record<string, string> {
  const value = (text: string) =>
    text.replace(/\$\{(\w+):?[-?]?([^}]*)\}/g, (_, name, other) =>
      name === 'POSTGRES_PASSWORD' ? 'secret' : other,
    );
  return Object.fromEntries(Object.entries(environment).map(([name, text]) => [name, value(text)]));
}

t.test('addresses of probes and the metrics that scale are those of a service', async (t) => {
  const service = await testService(t, {
    ...environmentOf('Deployment'),
    DATABASE_URL: await testDatabase(t),
    SHUTDOWN_DELAY_MS: '0',
    METRICS_PORT: '0',
  });
  const { startupProbe, readinessProbe, livenessProbe } = containerOf('Deployment');
  for (const { httpGet } of [startupProbe, readinessProbe, livenessProbe]) {
    const headers = { host: '10.244.0.7:3000' };
    t.equal((await service.send('GET', httpGet.path, { headers })).status, 200, httpGet.path);
  }
  service.setMaintenance(true);
  t.equal((await service.send('GET', readinessProbe.httpGet.path)).status, 503);
  t.equal((await service.send('GET', livenessProbe.httpGet.path)).status, 200);

  const { text } = await send(service.metricsUrl!, 'GET', '/metrics');
  const [rule] = adapter.rules.custom;
  const queried = `${rule.seriesQuery} ${rule.metricsQuery}`.match(/\b(http|plinth)_\w+/g)!;
  t.same(new Set(queried), new Set(['http_server_active_requests', 'plinth_event_readers']));
  for (const name of queried) t.match(text, `# TYPE ${name} gauge`);
  const [{ pods }] = manifest('HorizontalPodAutoscaler').spec.metrics;
  t.equal(pods.metric.name, rule.name.as);
});

t.test('the commands that migrate do so on an empty database', async (t) => {
  const { command } = containerOf('Job');
  t.same(compose.services.migrate.command, command);
  const [, bundle, ...args] = command as string[];
  t.ok(dockerfile.includes(`/app/${bundle} `), 'the image has the file');
  t.ok(dockerfile.includes(`/app/${compose.services.plinth.healthcheck.test[2]} `));
  const env = { ...IMAGE, ...environmentOf('Job'), DATABASE_URL: await testDatabase(t, true) };
  const { code, out } = await plinth(t, args, env);
  t.equal(code, 0, out);
});

t.test('names, ports, labels and times fit together', async (t) => {
  const { ports, image, ...container } = containerOf('Deployment');
  const portOf = new Map<string, number>(
    ports.map((port: Record<string, unknown>) => [port.name, port.containerPort]),
  );
  const env = environmentOf('Deployment');
  t.equal(String(portOf.get('http')), IMAGE.PORT);
  t.equal(`0.0.0.0:${portOf.get('metrics')}`, env.METRICS_PORT);
  t.ok(compose.services.plinth.ports[0].endsWith(`:${IMAGE.PORT}`));
  for (const probe of [container.startupProbe, container.readinessProbe, container.livenessProbe])
    t.equal(probe.httpGet.port, 'http');
  t.ok(portOf.has(manifest('Service').spec.ports[0].targetPort));
  for (const { ports = [] } of manifest('NetworkPolicy').spec.ingress)
    for (const { port } of ports) t.ok(portOf.has(port), port);

  const labels = manifest('Deployment').spec.template.metadata.labels;
  t.same(manifest('Deployment').spec.selector.matchLabels, labels);
  t.same(manifest('Service').spec.selector, labels);
  t.same(manifest('PodDisruptionBudget').spec.selector.matchLabels, labels);
  t.same(manifest('NetworkPolicy').spec.podSelector.matchLabels, labels);
  const { kind, name } = manifest('HorizontalPodAutoscaler').spec.scaleTargetRef;
  t.equal(name, manifest(kind).metadata.name);
  t.equal(containerOf('Job').image, image);

  const marginMs = 5000;
  const drainMs = Number(env.SHUTDOWN_DELAY_MS) + Number(env.SHUTDOWN_MS);
  t.ok(podOf('Deployment').terminationGracePeriodSeconds * 1000 >= drainMs + marginMs);
  const { stop_grace_period: grace, environment } = compose.services.plinth;
  t.ok(Number.parseInt(grace, 10) * 1000 >= Number(environment.SHUTDOWN_MS) + marginMs);
});

t.test('containers have the rights of the image, and limits', async (t) => {
  const [, user] = /^USER (\d+):/m.exec(dockerfile)!;
  for (const kind of PODS) {
    t.match(podOf(kind).securityContext, { runAsNonRoot: true, runAsUser: Number(user) });
    const { securityContext, resources } = containerOf(kind);
    t.match(securityContext, {
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    });
    t.ok(resources.limits.memory);
  }
  for (const { read_only, cap_drop, deploy } of Object.values(compose.services) as Manifest[]) {
    t.equal(read_only, true);
    t.same(cap_drop, ['ALL']);
    t.ok(deploy.resources.limits.memory);
  }
});
