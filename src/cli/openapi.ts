import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import type { ApiDocuments } from '../actions/api-documents.js';
import { describeApi } from '../api-description.js';
import { readConfig } from '../config/config.js';
import { checkDeclarations } from '../declarations/check-declarations.js';
import { readDeclared } from '../declarations/declared.js';
import type { JsonObject } from '../json.js';
import { NOBODY } from '../principal.js';
import { parse } from './arguments.js';
import { OutputError, UsageError } from './exit.js';
import { print } from './output.js';

/** The document of each version of the API, as an administrator sees it. */
const DOCUMENTS: ReadonlyMap<string, (documents: ApiDocuments) => Promise<JsonObject>> = new Map([
  ['1', (documents) => documents.openApi(NOBODY)],
]);

/** Writes the OpenAPI document of the declarations and settings. Throws UsageError, DeclarationError and ConfigError. */
export async function openApiCommand(args: string[]): Promise<void> {
  const { yaml, version, output, json } = parse('openapi', '', args).values;
  if (json && yaml && output === undefined)
    throw new UsageError('--json and --yaml exclude each other without -o FILE', 'openapi');
  const config = readConfig();
  const declarations = await readDeclared(config);
  checkDeclarations(declarations);
  const document = await DOCUMENTS.get(version)!(await describeApi(config, declarations));
  const text = yaml
    ? stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 })
    : `${JSON.stringify(document)}\n`;
  if (output === undefined) return void process.stdout.write(text);
  try {
    writeFileSync(output, text);
  } catch (error) {
    throw new OutputError(`${output} cannot be written: ${(error as Error).message}`);
  }
  print(json, { file: output, version, bytes: Buffer.byteLength(text) }, '');
}
