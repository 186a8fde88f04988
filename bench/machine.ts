import { readFileSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';

/** What the figures were made on and with. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly versions: Readonly<Record<string, string>>;
}

const PACKAGES = ['fastify', 'express', 'postgres', 'pg', 'find-my-way', 'ajv', 'autocannon'];

/** Describes this machine. */
export function describeMachine(postgresVersion: string): Machine {
  const all = cpus();
  return {
    cpu: all[0]?.model.trim() ?? 'unknown',
    cores: all.length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    versions: {
      node: process.versions.node,
      postgresql: postgresVersion,
      ...Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)])),
    },
  };
}

function versionOf(name: string): string {
  const file = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** The machine in a few lines. */
export function machineText({ cpu, cores, memoryGb, system, versions }: Machine): string {
  const list = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${cpu}, ${cores} cores, ${memoryGb} GB; ${system}\n${list.join(', ')}\n`;
}
