import type { Principal } from '../../auth/principal.js';
import type { Resource } from '../../collection/resource.js';
import type { SchemaFiles } from '../../declarations/schema-files.js';
import { noSuchPath } from '../../errors/request-errors.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { Request } from '../../http/request.js';
import { type OpenEndpoint, type Router, visible } from '../../http/router.js';
import type { JsonObject } from '../../json.js';
import { turn } from '../../limits/turn.js';
import { runOperation } from './call.js';
import { getOf } from './operations.js';
import { SchemaWriter } from './schema-writer.js';

/** A record as a resource: its collection is the authority, its id the path. */
const RECORD = /^plinth:\/\/([a-z][a-z0-9_]*)\/([^/?#]+)$/;
const COLLECTIONS = 'plinth:collections';

interface Described {
  readonly resource: Resource;
  /** Reads one record. */
  readonly endpoint: OpenEndpoint;
}

/** The list of collections and the records, as resources of MCP, as far as a caller may read them. */
export class RecordResources {
  readonly #collections: readonly Described[];

  constructor(
    readonly resources: readonly Resource[],
    readonly router: Router,
    readonly files: SchemaFiles,
  ) {
    this.#collections = resources.map((resource) => ({
      resource,
      endpoint: router(`/${resource.name}/:id`).actions.get('GET')!,
    }));
  }

  list() {
    return [
      {
        uri: COLLECTIONS,
        name: 'collections',
        title: 'Collections',
        description: 'The collections that the caller may read, with the schemas of their records.',
        mimeType: JSON_TYPE,
      },
    ];
  }

  templates(principal: Principal) {
    return this.#readableBy(principal).map(({ resource: { name, singular } }) => ({
      uriTemplate: `plinth://${name}/{id}`,
      name: singular,
      title: `One record of ${name}`,
      mimeType: JSON_TYPE,
    }));
  }

  /** The text of a resource. Rejects with 403, 404 and 410. */
  async read(uri: string, request: Request): Promise<string> {
    if (uri === COLLECTIONS) return this.#describe(request.principal);
    const [, name, id] = RECORD.exec(uri) ?? [];
    const found = this.#collections.find(({ resource }) => resource.name === name);
    if (!found || id === undefined) throw noSuchPath();
    const operation = getOf(`/${name}`, found.resource)({ id });
    const reply = await runOperation(operation, this.router, request);
    return reply.body!;
  }

  async #describe(principal: Principal): Promise<string> {
    const collections: JsonObject[] = [];
    for (const { resource } of this.#readableBy(principal)) {
      const { name, singular, schema: declared } = resource;
      const writer = new SchemaWriter(this.files);
      const { record } = writer.schemasOf(resource, '#');
      const { description } = declared;
      const about = typeof description === 'string' ? { description } : {};
      const schema = { ...record, ...about, ...writer.defs };
      collections.push({ name, singular, uriTemplate: `plinth://${name}/{id}`, schema });
      await turn();
    }
    return JSON.stringify({ collections });
  }

  #readableBy(principal: Principal): Described[] {
    return this.#collections.filter(({ endpoint }) => visible(principal, endpoint));
  }
}
