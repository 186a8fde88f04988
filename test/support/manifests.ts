import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { foreign, foreignFolder } from './foreign.js';
import type { Test } from './test.js';
import { typeFaults } from './type-faults.js';

const FOLDER = fileURLToPath(new URL('../../../deploy/kubernetes/', import.meta.url));

/** A Kubernetes object as it is written. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
  readonly [member: string]: any;
}

/** All manifests by kind: there is one of each. */
export function readManifests(): Map<string, Manifest> {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.yaml'),
  );
  const manifests = files.map((name) => parse(readFileSync(join(FOLDER, name), 'utf8')) as Manifest);
  return new Map(manifests.map((manifest) => [manifest.kind, manifest]));
}

type Models = Readonly<Record<string, new (manifest: Manifest) => { validate(): void }>>;

/** Wrong values and missing members, by the schemas of the Kubernetes API. */
export async function schemaFaults(manifest: Manifest): Promise<string[]> {
  const { apiVersion, kind } = manifest;
  try {
    const models = await foreign<Models>(`kubernetes-models/${apiVersion}`);
    new models[kind]!(manifest).validate();
    return [];
  } catch (error) {
    return [`${kind}: ${(error as Error).message}`];
  }
}

/** Members that the Kubernetes API does not have: the schemas permit them, the types do not. */
export function unknownMembers(t: Test, manifests: readonly Manifest[]): string[] {
  const lines = manifests.map(
    (manifest, index) =>
      `export const _${index}: import('kubernetes-models/${manifest.apiVersion}').I${manifest.kind} = ${JSON.stringify(manifest)};`,
  );
  const file = join(foreignFolder(t, 'manifests'), 'manifests.ts');
  writeFileSync(file, lines.join('\n'));
  return typeFaults([file], '--noEmit --lib es2022 --module nodenext');
}
