import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import QuickLRU from 'quick-lru';
import type { App } from '../../src/app.js';
import { NOBODY } from '../../src/auth/principal.js';
import { CORE_TYPES } from '../../src/errors/catalogue.js';
import type { ApiDocuments } from '../../src/features/api-docs/api-documents.js';
import type { JsonObject } from '../../src/json.js';
import { createAjv } from '../../src/validation/ajv.js';
import { DEFAULT_VERSION, VERSIONS, type Version } from '../../src/versions/supported.js';

/** A response of the service, as a test received it. */
export interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

interface DocumentedResponse {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, { readonly schema: JsonObject }>>;
}

interface DocumentedOperation {
  readonly responses: Readonly<Record<string, DocumentedResponse & { readonly $ref?: string }>>;
  readonly 'x-variants'?: readonly DocumentedOperation[];
}

/** The fields that any response may have, besides those that the document names. */
const UNNAMED = new Set(
  'date connection keep-alive content-type content-length content-encoding transfer-encoding vary allow x-content-type-options content-security-policy strict-transport-security x-accel-buffering accept-post accept-patch cache-control x-total-count referrer-policy x-frame-options set-cookie traceparent server-timing'.split(
    ' ',
  ),
);

/** Errors of a connection or of any request, which the document has as `default`. */
const GENERAL = new Set([414, 417, 421, 431, 500, 501, 505]);

/** Checks the responses of a service against its own OpenAPI document. */
export class Contract {
  readonly #checked = new Set<string>();
  readonly #validators = new WeakMap<JsonObject, ValidateFunction>();
  readonly #paths: readonly (readonly [pattern: RegExp, path: string])[];

  private constructor(readonly document: JsonObject & { paths: Record<string, JsonObject> }) {
    this.#paths = Object.keys(document.paths)
      .sort((a, b) => a.split('{').length - b.split('{').length)
      .map((path) => [new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`), path]);
    noteDocumented(document);
  }

  /** The contract of a service for the version that responded; services with the same document share one. */
  static async of(service: App, { headers }: Received): Promise<Contract> {
    const version = VERSIONS.find(({ number }) => number === headers['api-version']) ?? DEFAULT_VERSION;
    const ofService = byService.get(service) ?? new Map<Version, Contract>();
    byService.set(service, ofService);
    const found = ofService.get(version);
    if (found) return found;
    const key = `${version.number} ${keyOf(service)}`;
    const known = contracts.get(key) ?? new Contract(await rulesFor(service, version));
    contracts.set(key, known);
    ofService.set(version, known);
    return known;
  }

  /** The statement of the document that a response contradicts; undefined: none, or the document is not about its path. */
  violation(method: string, target: string, response: Received): string | undefined {
    const [path = ''] = target.split('?');
    const template = this.#paths.find(([pattern]) =>
      pattern.test(path.replace(/^\/api\/v[12](?=\/)/, '')),
    )?.[1];
    const key = method === 'HEAD' ? 'get' : method === 'QUERY' ? 'x-query' : method.toLowerCase();
    const operation = template === undefined ? undefined : (this.document.paths[template]![key] as unknown);
    if (operation === undefined) return undefined;
    const { status, headers } = response;
    const isJob = status === 202 && String(headers['preference-applied']).includes('respond-async');
    const isVariant = isJob || String(headers['content-type']).endsWith('profile=report');
    const described = operation as DocumentedOperation;
    const signature = signatureOf(response);
    noteSeen(kindOf(template!, this.document), key, status);
    const name = `${method} ${template} ${status}`;
    if (this.#checked.has(`${name} ${signature}`)) return undefined;
    const fault = isVariant
      ? this.#variantFaultOf(described, response, method)
      : this.#faultOf(described, response, method);
    if (fault === undefined) this.#checked.add(`${name} ${signature}`);
    return fault === undefined ? undefined : `${name}: ${fault}: ${response.text.slice(0, 300)}`;
  }

  /** The fault of a response that one of the variants of an operation is to have. */
  #variantFaultOf(
    { 'x-variants': variants = [] }: DocumentedOperation,
    response: Received,
    method: string,
  ): string | undefined {
    const faults = variants.map((each) => this.#faultOf(each, response, method));
    return faults.includes(undefined) ? undefined : (faults[0] ?? 'there are no variants');
  }

  #faultOf(
    { responses }: DocumentedOperation,
    { status, headers, text }: Received,
    method: string,
  ): string | undefined {
    const found = responses[status] ?? (GENERAL.has(status) ? responses.default : undefined);
    if (!found) return `the status is not documented (${Object.keys(responses).join(', ')})`;
    const response = found.$ref === undefined ? found : (this.#resolve(found.$ref) as DocumentedResponse);
    const named = new Set(Object.keys(response.headers ?? {}).map((each) => each.toLowerCase()));
    const unnamed = Object.keys(headers).filter(
      (each) => !UNNAMED.has(each) && !named.has(each) && !each.startsWith('access-control-'),
    );
    if (unnamed.length > 0) return `the fields are not documented: ${unnamed.join(', ')}`;
    if (text === '' || method === 'HEAD') return undefined;
    const whole = String(headers['content-type'] ?? '');
    const type = whole.split(';')[0]!;
    const schema = (response.content?.[whole] ?? response.content?.[type])?.schema;
    if (!schema) return `the media type ${type} is not documented`;
    if (!/[/+]json$/.test(type)) return undefined;
    return this.#invalid(schema, JSON.parse(text));
  }

  #resolve(reference: string): unknown {
    return reference
      .slice(2)
      .split('/')
      .reduce<unknown>((value, step) => (value as JsonObject)[step], this.document);
  }

  #invalid(schema: JsonObject, value: unknown): string | undefined {
    const validate = this.#validators.get(schema) ?? validatorOf(schema, this.document);
    this.#validators.set(schema, validate);
    if (validate(value)) return undefined;
    return validate
      .errors!.slice(0, 4)
      .map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`)
      .join('; ');
  }
}

const ajv = createAjv();
ajv.addVocabulary(['components']);
formats.default(ajv, { keywords: false });
/** Validators by the texts of a schema and of all that it refers to: most documents have most of them in common. */
const validators = new QuickLRU<string, ValidateFunction>({
  maxSize: 1000,
  onEviction: (_, { schema }) => void ajv.removeSchema((schema as JsonObject).$id as string),
});
let documents = 0;

/** The validator of a schema in a document. */
function validatorOf(schema: JsonObject, document: JsonObject): ValidateFunction {
  const all = (document.components as { readonly schemas: Readonly<Record<string, JsonObject>> }).schemas;
  const used = new Map<string, JsonObject>();
  const collect = (part: JsonObject): void => {
    for (const [, name] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"/]+)/g))
      if (!used.has(name!)) {
        used.set(name!, all[name!]!);
        collect(all[name!]!);
      }
  };
  collect(schema);
  const components = { schemas: Object.fromEntries(used) };
  const key = createHash('sha256')
    .update(JSON.stringify([schema, components]))
    .digest('base64');
  const known = validators.get(key);
  if (known) return known;
  const $id = `document-${++documents}`;
  const text = JSON.stringify({ components, ...schema, $id }).replaceAll('"#/', `"${$id}#/`);
  const validate = ajv.compile(JSON.parse(text) as JsonObject);
  validators.set(key, validate);
  return validate;
}

const byService = new WeakMap<App, Map<Version, Contract>>();
/** Of the services of the last files: a contract has megabytes, and a worker meets some hundred of them. */
const contracts = new QuickLRU<string, Contract>({ maxSize: 8 });

/** The documents that a service describes itself by. */
const documentsOf = ({ features }: App) => features.get('api-docs') as ApiDocuments;

/** The document of a service, as an administrator sees it. */
async function rulesFor(service: App, version: Version): Promise<Contract['document']> {
  const { settings, description } = documentsOf(service);
  const { openApi } = await import('../../src/features/api-docs/openapi-document.js');
  return (await openApi({ ...settings, ...description, version }, NOBODY)) as Contract['document'];
}

/** The settings that decide the content of the document of a service. */
function keyOf(service: App): string {
  const { settings } = documentsOf(service);
  const { routes } = service;
  const { resources, ...rest } = settings;
  const flags = Object.entries(rest).filter(([name]) => DECIDING.includes(name));
  const collections = resources.map(({ name, schema, scopes }) => [name, schema, scopes]);
  return JSON.stringify([
    [...service.features.keys()],
    flags,
    collections,
    routes.map(({ path, actions }) => [path, Object.keys(actions)]),
  ]);
}

const DECIDING =
  'auth issuer authServer tombstones requireIfMatch isJsonServer hasEvents databaseReadUrl publicUrl publicPrefix isRateLimited retiring'.split(
    ' ',
  );

/** The properties that distinguish a response from others of the same operation. */
function signatureOf({ status, headers, text }: Received): string {
  const [, code = ''] = status < 400 ? [] : (/"code":"([A-Z_]+)"/.exec(text) ?? []);
  const keys = status < 400 ? text.slice(0, 2000).replace(/:("[^"]*"|[\d.]+)/g, '') : '';
  return `${Object.keys(headers).join()} ${headers['content-type']} ${code} ${keys}`;
}

/** A path with the names of collections replaced, so that all collections count as one. */
function kindOf(path: string, { paths }: Contract['document']): string {
  const isCollection = (name: string) => paths[`/${name}`]?.['x-query'] !== undefined;
  // A collection may have the name of a part of a path of the service: `tickets` of `/events/tickets`.
  if (!isCollection(path.split('/')[1]!)) return path;
  return path
    .split('/')
    .map((name) => (isCollection(name) ? '*' : name))
    .join('/');
}

const FOLDER = process.env.PLINTH_TEST_CONTRACT;
const documented = new Set<string>();
const seen = new Set<string>();

if (FOLDER !== undefined)
  process.on('exit', () =>
    writeFileSync(join(FOLDER, `${randomUUID()}.json`), JSON.stringify([[...documented], [...seen]])),
  );

/** Codes of the stages that all operations share; one operation stands for all. */
const SHARED = new Set(
  'BAD_REQUEST UNSUPPORTED_VERSION VERSION_MISMATCH VERSION_SUNSET UNAUTHORIZED INSUFFICIENT_SCOPE NOT_ACCEPTABLE REQUEST_TIMEOUT PAYLOAD_TOO_LARGE UNSUPPORTED_MEDIA_TYPE VALIDATION_ERROR RATE_LIMITED SERVICE_UNAVAILABLE QUERY_TIMEOUT RESPONSE_TOO_LARGE INSUFFICIENT_STORAGE INVALID_QUERY UNKNOWN_PARAMETER METHOD_NOT_ALLOWED IDEMPOTENCY_KEY_IN_USE IDEMPOTENCY_KEY_REUSED STORED_RESPONSE_TOO_LARGE'.split(
    ' ',
  ),
);

function noteDocumented(document: Contract['document']): void {
  for (const [path, item] of Object.entries(document.paths))
    for (const [key, operation] of Object.entries(item)) {
      const { responses, 'x-variants': variants = [] } = operation as unknown as DocumentedOperation;
      const all = [responses, ...variants.map((each) => each.responses)];
      for (const [status, { $ref }] of all.flatMap((each) => Object.entries(each))) {
        const codes = $ref === undefined ? [] : $ref.split('/').at(-1)!.split('.').slice(1);
        const plain = codes.map((code) => code.split('-')[0]!);
        const isShared = plain.length > 0 && plain.every((code) => SHARED.has(code) || status === 'default');
        if (!isShared) documented.add(`${key} ${kindOf(path, document)} ${status}`);
      }
    }
}

/** A record is deleted between the search for it and its lock; a user between the check of its token and the response. */
const RACES = new Set(['patch /* 404', 'patch /* 410', 'get /userinfo 404', 'post /userinfo 404']);

function noteSeen(kind: string, key: string, status: number): void {
  seen.add(`${key} ${kind} ${status}`);
}

/** The documented statuses that no test of a whole run has provoked. The catalogue's own check is about the codes. */
export function contractGaps(folder: string): string[] {
  const files = readdirSync(folder).map(
    (name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as [string[], string[]],
  );
  const found = new Set(files.flatMap(([, each]) => each));
  return [...new Set(files.flatMap(([each]) => each))]
    .filter((entry) => !found.has(entry) && !RACES.has(entry))
    .sort()
    .map((entry) => `no test provokes what the OpenAPI document promises: ${entry}`);
}

/** The codes of the core that the document does not have. Those with a suffix are there by the names of collections. */
export function codesWithout(document: JsonObject): string[] {
  const text = JSON.stringify(document);
  return CORE_TYPES.filter(({ code, suffix }) => suffix === undefined && !text.includes(`"${code}"`)).map(
    ({ code }) => code,
  );
}
