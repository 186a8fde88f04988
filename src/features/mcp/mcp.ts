import type { Resource } from '../../collection/resource.js';
import type { Config } from '../../config/config.js';
import { SchemaFiles } from '../../declarations/schema-files.js';
import { badRequest, originNotAllowed } from '../../errors/request-errors.js';
import type { Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import { type OpenEndpoint, type Router, visible } from '../../http/router.js';
import { DEFAULT_VERSION } from '../../versions/supported.js';
import { callTool, ToolChecks } from './call.js';
import { type Offer, respondWithSdk, type ToolDefinition } from './mcp-server.js';
import { RecordResources } from './record-resources.js';
import { type Tool, toolsOf } from './tools.js';

/** A tool with the action that it runs. */
interface OpenTool extends Tool {
  readonly endpoint: OpenEndpoint;
}

/** The collections as a server of the Model Context Protocol: POST /mcp, one JSON-RPC message each. */
export class Mcp {
  readonly #files: SchemaFiles;
  readonly #origins: ReadonlySet<string>;
  readonly #checks = new ToolChecks();

  /** `shared` are the schemas to which those of collections refer, by file. */
  constructor(
    readonly settings: Config,
    readonly resources: readonly Resource[],
    shared: ReadonlyMap<string, object>,
  ) {
    this.#files = new SchemaFiles(resources, shared);
    const { corsOrigins, publicUrl } = settings;
    this.#origins = new Set([
      ...corsOrigins,
      ...(publicUrl === undefined ? [] : [new URL(publicUrl).origin]),
    ]);
  }

  /** Opens the response to a message. `router` has the routes of the collections, with lists as pages. */
  open(router: Router): (request: Request) => Promise<Reply> {
    const tools = new Map(
      this.resources
        .flatMap((resource) => this.#toolsOf(resource))
        .map((tool): [string, OpenTool] => [
          tool.name,
          { ...tool, endpoint: router(tool.samplePath).actions.get(tool.method)! },
        ]),
    );
    const records = new RecordResources(this.resources, router, this.#files);
    return async (request) => {
      this.#requireOrigin(request.headers.origin);
      if (Array.isArray(request.body?.value))
        throw badRequest('A request to /mcp has one JSON-RPC message, not an array of them.');
      // Tools and records are those of the default version, however the client addresses them.
      const own = { ...request, version: DEFAULT_VERSION, prefix: this.settings.publicPrefix };
      return respondWithSdk(request, this.#offer(tools, records, router, own));
    };
  }

  /** A page of another origin may have reached the service by DNS rebinding. */
  #requireOrigin(origin: string | undefined): void {
    if (origin !== undefined && !this.#origins.has(origin)) throw originNotAllowed();
  }

  #toolsOf(resource: Resource): Tool[] {
    return toolsOf(resource, this.#files, resource.requireIfMatch ?? this.settings.requireIfMatch);
  }

  #offer(
    tools: ReadonlyMap<string, OpenTool>,
    records: RecordResources,
    router: Router,
    request: Request,
  ): Offer {
    const { principal } = request;
    return {
      tools: () =>
        [...tools.values()].filter(({ endpoint }) => visible(principal, endpoint)).map(definitionOf),
      call: (name, args) => {
        const tool = tools.get(name);
        return tool && callTool(tool, this.#checks, args, router, request);
      },
      resources: () => records.list(),
      templates: () => records.templates(principal),
      read: (uri) => records.read(uri, request),
    };
  }
}

const definitionOf = ({ name, title, description, inputSchema, annotations }: Tool): ToolDefinition => ({
  name,
  title,
  description,
  inputSchema,
  annotations,
});
