import QuickLRU from 'quick-lru';
import { hashedReply, JSON_TYPE, YAML_TYPE } from '../../collection/representation.js';
import { readConditions } from '../../http/preconditions.js';
import { type Action, type Route, requiring } from '../../http/router.js';
import type { JsonObject } from '../../json.js';
import type { OpenFeature, RouteTable } from '../../open-features.js';
import { type Principal, STRANGER } from '../../principal.js';
import type { Version } from '../../versions/version.js';
import { docsRoutes } from './docs-page.js';
import type { Described } from './document.js';

/** What the documents describe, besides what they load themselves. */
export type DocumentSettings = Omit<Described, 'clientInput' | 'routes' | 'version'>;

/** Texts that are stored: callers with the same scopes get the same one. */
const MAX_TEXTS = 32;

/** The documents about the API. They are made on request, from modules that are loaded then. */
export class ApiDocuments implements OpenFeature {
  #listRoutes: () => readonly Route[] = () => [];

  constructor(readonly settings: DocumentSettings) {}

  /** The OpenAPI document of what a caller may use in a version. */
  async openApi(caller: Principal, version: Version): Promise<JsonObject> {
    const { openApi } = await import('./document.js');
    const clients = this.settings.authServer ? await import('../issuer/client-input.js') : undefined;
    const clientInput = clients?.CLIENT_SCHEMA as JsonObject | undefined;
    return openApi({ ...this.settings, clientInput, routes: this.#listRoutes(), version }, caller);
  }

  /** The AsyncAPI document of the event stream. */
  async asyncApi(caller: Principal): Promise<JsonObject> {
    const { asyncApi } = await import('./async-api.js');
    return asyncApi(this.settings, caller);
  }

  /** The routes of the documents, which describe all routes of the table. */
  routes({ all }: Pick<RouteTable, 'all'>): Route[] {
    this.#listRoutes = all;
    const json = async (document: Promise<JsonObject>) => JSON.stringify(await document);
    const yaml = async (document: Promise<JsonObject>) => {
      const { stringify } = await import('yaml');
      return stringify(await document, { aliasDuplicateObjects: false, lineWidth: 0 });
    };
    const route = (path: string, action: Action): Route => ({
      path,
      actions: { GET: requiring('optional', action) },
    });
    return [
      route(
        '/openapi.json',
        show(JSON_TYPE, (caller, version) => json(this.openApi(caller, version))),
      ),
      route(
        '/openapi.yaml',
        show(YAML_TYPE, (caller, version) => yaml(this.openApi(caller, version))),
      ),
      ...(this.settings.hasEvents
        ? [
            route(
              '/asyncapi.json',
              show(JSON_TYPE, (caller) => json(this.asyncApi(caller))),
            ),
          ]
        : []),
      ...docsRoutes(this.settings.issuer),
    ];
  }
}

/** Shows a document for the scopes of the caller: 200, 304, 406, 412. */
function show(type: string, write: (caller: Principal, version: Version) => Promise<string>): Action {
  const texts = new QuickLRU<string, Promise<string>>({ maxSize: MAX_TEXTS });
  return {
    offers: [type],
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
