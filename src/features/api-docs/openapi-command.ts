import { stringify } from 'yaml';
import { collectionsFor, describeApi } from '../../app/open-features.js';
import { NOBODY } from '../../auth/principal.js';
import { parse } from '../../cli/arguments.js';
import { configOf, type Io, UsageError } from '../../cli/io.js';
import { print, withOutputFile } from '../../cli/output.js';
import { checkDeclarations } from '../../declarations/check-declarations.js';
import { loadDeclarations, resourcesOf } from '../../declarations/load-declarations.js';
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
  // Nothing is opened.
  const resources = collectionsFor(config, resourcesOf(declarations, { prefix: config.publicPrefix }));
  const described = await describeApi(io.features, config, resources);
  const documents = new ApiDocuments(config, resources, described, declarations.shared);
  // As an administrator sees it.
  const document = await documents.openApi(NOBODY, VERSIONS.find(({ number }) => number === version)!);
  const text = yaml
    ? stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 })
    : `${JSON.stringify(document)}\n`;
  if (output === undefined) return void io.stdout.write(text);
  await withOutputFile(io, output, async (out) => void out.write(text));
  print(io, json, { file: output, version, bytes: Buffer.byteLength(text) }, '');
}
