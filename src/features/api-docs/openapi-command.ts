import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { collectionsFor } from '../../app-parts.js';
import { parse } from '../../cli/arguments.js';
import { OutputError, UsageError } from '../../cli/exit.js';
import { configOf, fileOf, type Io } from '../../cli/io.js';
import { print } from '../../cli/output.js';
import type { Config } from '../../config/config.js';
import { checkDeclarations } from '../../declarations/check-declarations.js';
import { loadDeclarations, resourcesOf } from '../../declarations/load-declarations.js';
import type { Declarations } from '../../declarations/read-declarations.js';
import { endpointsOf, type Openable } from '../../open-features.js';
import { NOBODY } from '../../principal.js';
import { VERSIONS } from '../../versions/supported.js';
import { ApiDocuments } from './api-documents.js';
import { COMMANDS } from './commands.js';

/** Writes the OpenAPI document of the declarations and settings. Throws UsageError, DeclarationError and ConfigError. */
export async function openApiCommand(args: string[], io: Io): Promise<void> {
  const { yaml, version, output, json } = parse(COMMANDS, 'openapi', '', args).values;
  if (json && yaml && output === undefined)
    throw new UsageError('--json and --yaml exclude each other without -o FILE', 'openapi');
  const config = configOf(io);
  const declarations = await loadDeclarations(config);
  checkDeclarations(declarations);
  const documents = await describeApi(config, declarations, io.features);
  // As an administrator sees it.
  const document = await documents.openApi(NOBODY, VERSIONS.find(({ number }) => number === version)!);
  const text = yaml
    ? stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 })
    : `${JSON.stringify(document)}\n`;
  if (output === undefined) return void io.stdout.write(text);
  try {
    writeFileSync(fileOf(io, output), text);
  } catch (error) {
    throw new OutputError(`${output} cannot be written: ${(error as Error).message}`);
  }
  print(io, json, { file: output, version, bytes: Buffer.byteLength(text) }, '');
}

/**
 * The documents about the API of a service with this configuration, these declarations and those of these features that it
 * turns on. Nothing is opened. Throws ConfigError.
 */
export async function describeApi(
  config: Config,
  declarations: Declarations,
  features: readonly Openable[],
): Promise<ApiDocuments> {
  const declared = resourcesOf(declarations, { prefix: config.publicPrefix });
  const resources = collectionsFor(config, declared);
  return new ApiDocuments(config, resources, await endpointsOf(features, config, resources));
}
