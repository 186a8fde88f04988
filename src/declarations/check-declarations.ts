import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { escapeToken } from '../json.js';
import { isImportableHash } from '../passwords/password-hash.js';
import { KEYWORDS } from '../validation/ajv.js';
import { isEmail } from '../validation/email.js';
import { declarationSchema } from './built-in.js';
import { columnOf, hasColumn, RESERVED } from './column-of.js';
import type { Declaration, DeclarationFault, DeclaredField } from './declaration.js';
import { DeclarationError, type Declarations } from './read-declarations.js';
import { baseOf } from './schema-base.js';

/** Tables and paths of the service itself. */
const OWN_NAMES: ReadonlySet<string> = new Set(
  `admin api authorize batch blocks collections counts credentials device docs errors events events_floor healthz
  idempotency import_ids imports introspect jwks keys limits mcp metrics migrations oauth oauth_clients openapi passwords readyz
  revoke tombstones token userinfo version_calls webhooks whoami`.split(/\s+/),
);

/** Checks declarations with everything that can be wrong in them. Throws DeclarationError with every fault. */
export function checkDeclarations(declarations: Declarations): void {
  const { collections } = declarations;
  const faults = collections.flatMap((declaration) => {
    const found = metaFaults(declaration);
    // What follows relies on the types of the keywords.
    return found.length > 0 ? found : [...nameFaults(declaration), ...fieldFaults(declaration, collections)];
  });
  if (faults.length === 0) faults.push(...compileFaults(declarations));
  if (faults.length > 0) throw new DeclarationError(faults);
}

let validateMeta: ReturnType<Ajv2020['compile']> | undefined;

function metaFaults({ file, schema }: Declaration): DeclarationFault[] {
  validateMeta ??= new Ajv2020({ allErrors: true, strict: false }).compile(JSON.parse(declarationSchema()));
  if (validateMeta(schema)) return [];
  const seen = new Set<string>();
  return (validateMeta.errors ?? []).flatMap((error) => {
    const fault = { file, pointer: pointerOf(error), reason: reasonOf(error) };
    const key = `${fault.pointer} ${fault.reason}`;
    if (['anyOf', 'oneOf', 'if'].includes(error.keyword) || seen.has(key)) return [];
    seen.add(key);
    return [fault];
  });
}

const pointerOf = ({ instancePath, params, keyword }: ErrorObject): string =>
  keyword === 'additionalProperties'
    ? `${instancePath}/${escapeToken(params.additionalProperty)}`
    : instancePath;

function reasonOf({ keyword, params, message = 'is not valid' }: ErrorObject): string {
  if (keyword === 'enum')
    return `must be one of ${params.allowedValues.map((value: unknown) => JSON.stringify(value)).join(', ')}`;
  if (keyword === 'const') return `must be ${JSON.stringify(params.allowedValue)}`;
  return keyword === 'additionalProperties' ? 'is not a known option' : message;
}

/** Whether a collection may have this name. */
export const isNameAvailable = (name: string): boolean =>
  nameFaults({ name, file: '', schema: { type: 'object', properties: {} } }).length === 0;

function nameFaults({ name, file }: Declaration): DeclarationFault[] {
  const fault = (reason: string) => [{ file, pointer: '', reason }];
  if (!/^[a-z][a-z0-9_]{0,39}$/.test(name))
    return fault('the name of the file must be that of a collection: a-z, 0-9 and _, up to 40 characters');
  if (OWN_NAMES.has(name)) return fault(`${name} is a name that the service itself uses`);
  return RESERVED.has(name) ? fault(`${name} is a reserved word of PostgreSQL`) : [];
}

function fieldFaults(declaration: Declaration, collections: readonly Declaration[]): DeclarationFault[] {
  const { file, schema } = declaration;
  const columns = new Map<string, string>();
  const faults: DeclarationFault[] = [];
  for (const [name, field] of Object.entries(schema.properties)) {
    const pointer = `/properties/${escapeToken(name)}`;
    const fault = (keyword: string, reason: string) =>
      void faults.push({ file, pointer: `${pointer}${keyword}`, reason });
    checkKeywords(field, collections, fault);
    if (field.writeOnly && schema.required?.includes(name))
      fault('/writeOnly', 'a field that is never returned cannot be required: a patch would not contain it');
    if (!hasColumn(field)) continue;
    const column = columnOf(name, field);
    if ('fault' in column) {
      fault('/type', column.fault);
      continue;
    }
    const other = columns.get(column.name);
    if (other !== undefined) fault('', `has the same column as ${other}: ${column.name}`);
    columns.set(column.name, name);
    if (field['x-search'] && column.type !== 'text')
      fault('/x-search', 'only a field of type string can be searched');
    if (field['x-unique'] && column.type.endsWith('[]')) fault('/x-unique', 'an array cannot be unique');
  }
  const { nested } = schema['x-collection'] ?? {};
  const referring = Object.keys(schema.properties).filter((name) => schema.properties[name]!['x-references']);
  if (nested && (nested === true ? referring.length === 0 : !referring.includes(nested)))
    faults.push({
      file,
      pointer: '/x-collection/nested',
      reason: 'there is no such field with x-references',
    });
  return faults;
}

function checkKeywords(
  field: DeclaredField,
  collections: readonly Declaration[],
  fault: (keyword: string, reason: string) => void,
): void {
  const to = field['x-references'];
  if (to !== undefined && !collections.some(({ name }) => name === to))
    fault(
      '/x-references',
      `there is no collection ${to}: there are ${collections.map(({ name }) => name).join(', ')}`,
    );
  if (field['x-normalize']?.includes('nfc') && !(Number(field.maxLength) > 0))
    fault('/x-normalize', 'nfc needs maxLength');
  if (field.writeOnly && hasColumn(field))
    fault('/writeOnly', 'a field that is never returned cannot be indexed');
}

/** What prevents a schema from being compiled: unknown keywords, references that lead nowhere, invalid patterns. */
function compileFaults({ collections, shared }: Declarations): DeclarationFault[] {
  const ajv = new Ajv2020({ allErrors: true, strictTypes: false, strictTuples: false });
  formats.default(ajv);
  ajv.addFormat('email', isEmail);
  ajv.addFormat('password-hash', isImportableHash);
  ajv.addVocabulary([...KEYWORDS]);
  for (const [name, schema] of shared) ajv.addSchema({ ...schema, $id: baseOf(name) });
  for (const { name, schema } of collections) ajv.addSchema({ ...schema, $id: baseOf(`${name}.json`) });
  return collections.flatMap(({ name, file }) => {
    try {
      ajv.getSchema(baseOf(`${name}.json`));
      return [];
    } catch (error) {
      return [{ file, pointer: '', reason: (error as Error).message }];
    }
  });
}
