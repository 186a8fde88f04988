import { readFileSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';

/** The machine and the versions of the programs that made the figures. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  /** Whether PostgreSQL's shared memory is in huge pages; undefined: not determined. */
  readonly hugePages?: string;
  readonly versions: Readonly<Record<string, string>>;
}

const PACKAGES = ['fastify', 'express', 'postgres', 'pg', 'find-my-way', 'ajv', 'autocannon'];

/** Describes this machine, and the PostgreSQL on it. */
export function describeMachine(postgresql?: { version: string; hugePages: string }): Machine {
  const all = cpus();
  return {
    cpu: all[0]?.model.trim() ?? 'unknown',
    cores: all.length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    ...(postgresql && { hugePages: postgresql.hugePages }),
    versions: {
      node: process.versions.node,
      ...(postgresql && { postgresql: postgresql.version }),
      ...Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)])),
    },
  };
}

function versionOf(name: string): string {
  const file = new URL(`../../../node_modules/${name}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** The machine in a few lines. */
export function machineText({ cpu, cores, memoryGb, system, hugePages, versions }: Machine): string {
  const list = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const pages = hugePages === undefined ? '' : `, huge pages ${hugePages}`;
  return `${cpu}, ${cores} cores, ${memoryGb} GB${pages}; ${system}\n${list.join(', ')}\n`;
}
