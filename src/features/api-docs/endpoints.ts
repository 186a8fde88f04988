import QuickLRU from 'quick-lru';
import { TEXT } from '../../api/doc.js';
import { documented } from '../../api/document-endpoints.js';
import { at, type Endpoint } from '../../api/endpoint.js';
import { type Principal, STRANGER } from '../../auth/principal.js';
import { hashedReply } from '../../collection/representation.js';
import { HTML_TYPE, JSON_TYPE, YAML_TYPE } from '../../http/media-types.js';
import { readConditions } from '../../http/preconditions.js';
import type { Action } from '../../http/router.js';
import { isObject, type JsonObject } from '../../json.js';
import { turn } from '../../limits/turn.js';
import type { Version } from '../../versions/supported.js';
import type { ApiDocuments } from './api-documents.js';
import { docsAsset, docsPage } from './docs-page.js';

/** Texts that are stored: callers with the same scopes get the same one. */
const MAX_TEXTS = 32;

const ANY_JSON = { [JSON_TYPE]: { type: 'object' } };

/** The documents about all endpoints. */
export const DOCUMENT_ENDPOINTS: readonly Endpoint<ApiDocuments>[] = [
  {
    ...at('GET', '/openapi.json', 'optional'),
    homeLink: { name: 'openapi', position: 2 },
    doc: documented(
      { id: 'getOpenApi', summary: 'This document', description: 'An OpenAPI document.' },
      ANY_JSON,
    ),
    open: (documents) => show(JSON_TYPE, (caller, version) => json(documents.openApi(caller, version))),
  },
  {
    ...at('GET', '/openapi.yaml', 'optional'),
    doc: documented(
      { id: 'getOpenApiYaml', summary: 'This document as YAML', description: 'An OpenAPI document.' },
      { [YAML_TYPE]: TEXT },
    ),
    open: (documents) => show(YAML_TYPE, (caller, version) => yaml(documents.openApi(caller, version))),
  },
  {
    ...at('GET', '/docs', 'nothing'),
    offers: [HTML_TYPE],
    homeLink: { name: 'docs', position: 1 },
    open: ({ settings }) => docsPage(settings.issuer),
  },
  {
    ...at('GET', '/docs/:asset', 'nothing'),
    open: ({ settings }) => docsAsset(settings.issuer),
  },
];

const json = async (document: Promise<JsonObject>) => JSON.stringify(await document);

/** Each path and each component is written by itself, since the whole takes long. */
async function yaml(document: Promise<JsonObject>): Promise<string> {
  const { stringify } = await import('yaml');
  let text = '';
  for (const { value, written } of partsOf(await document)) {
    const lines = stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
    text += written === 0 ? lines : lines.split('\n').slice(written).join('\n');
    await turn();
  }
  return text;
}

/** A part of a document within its parents, of which the first ones are written already. */
interface Part {
  readonly value: JsonObject;
  readonly written: number;
}

/** The levels below a member of the document whose members are parts. */
const LEVELS: Readonly<Record<string, number>> = { paths: 1, webhooks: 1, components: 2 };

function* partsOf(value: JsonObject, levels?: number, parents = 0, written = 0): Generator<Part> {
  let before = written;
  for (const [name, member] of Object.entries(value)) {
    const below = levels ?? LEVELS[name] ?? 0;
    if (below > 0 && isObject(member) && Object.keys(member).length > 0) {
      for (const part of partsOf(member, below - 1, parents + 1, before))
        yield { ...part, value: { [name]: part.value } };
    } else yield { value: { [name]: member }, written: before };
    before = parents;
  }
}

/** Shows a document for the scopes of the caller: 200, 304, 406, 412. */
function show(type: string, write: (caller: Principal, version: Version) => Promise<string>): Action {
  const texts = new QuickLRU<string, Promise<string>>({ maxSize: MAX_TEXTS });
  return {
    run: async ({ principal, version, headers }) => {
      const isStranger = principal === STRANGER;
      const key = [version.number, isStranger, ...[...principal.scopes].sort()].join(' ');
      const text = texts.get(key) ?? write(principal, version);
      texts.set(key, text);
      text.catch(() => texts.delete(key));
      return hashedReply(type, await text, readConditions(headers));
    },
  };
}
