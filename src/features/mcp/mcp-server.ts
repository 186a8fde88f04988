import { JSON_TYPE } from '../../http/media-types.js';
import type { Reply } from '../../http/reply.js';
import type { Request as ApiRequest } from '../../http/request.js';
import type { Json, JsonObject } from '../../json.js';
import { refusalOf, type ToolResult } from './call.js';
import {
  AjvJsonSchemaValidator,
  CallToolRequestSchema,
  ErrorCode,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from './sdk.js';

/** The parts of a request that the SDK gets. */
interface Message {
  readonly body?: { readonly value: Json } | undefined;
  readonly headers: ApiRequest['headers'];
}

/** The offer of a server to the caller of one request. */
export interface Offer {
  readonly tools: () => ToolDefinition[];
  /** Undefined: there is no such tool. */
  readonly call: (name: string, args: JsonObject) => Promise<ToolResult> | undefined;
  readonly resources: () => { uri: string; name: string; mimeType: string }[];
  readonly templates: () => { uriTemplate: string; name: string; mimeType: string }[];
  /** Rejects with a Problem. */
  readonly read: (uri: string) => Promise<string>;
}

/** The members of a tool in tools/list. */
export interface ToolDefinition {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object' };
  readonly annotations: object;
}

const INFO = { name: 'plinth', title: 'Plinth', version: '1' };

const INSTRUCTIONS = `Each collection has tools: list, get, create, update, upsert, delete, as far as you may use them.
Get a record before you change it, and send its etag as ifMatch: a conflict then writes nothing and returns the current record.
An error result has a code, a message and details; correct the call as they say.`;

/** Only for requests of a server to its client, of which there are none. One instance, since it costs more than a request. */
const NO_VALIDATION = new AjvJsonSchemaValidator();

const RESOURCE_NOT_FOUND = -32_002;

/**
 * Has the SDK respond to one message (MCP, Streamable HTTP without sessions): 200 with its response, 202 for a
 * notification, 400 for anything else. Rejects with what `offer` rejects with, besides problems that the caller can act on.
 */
export async function respondWithSdk({ body, headers }: Message, offer: Offer): Promise<Reply> {
  const failures: unknown[] = [];
  const server = createServer(offer, failures);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  // The type of the transport declares its optional properties without undefined.
  await server.connect(transport as Parameters<Server['connect']>[0]);
  try {
    const version = headers['mcp-protocol-version'];
    const response = await transport.handleRequest(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: {
          Accept: `${JSON_TYPE}, text/event-stream`,
          'Content-Type': JSON_TYPE,
          ...(version === undefined ? {} : { 'MCP-Protocol-Version': String(version) }),
        },
      }),
      { parsedBody: body?.value },
    );
    if (failures.length > 0) throw failures[0];
    const text = await response.text();
    const { status } = response;
    return text === ''
      ? { status, headers: [] }
      : { status, headers: ['Content-Type', JSON_TYPE], body: text };
  } finally {
    await server.close();
  }
}

function createServer(offer: Offer, failures: unknown[]): Server {
  const server = new Server(INFO, {
    capabilities: { tools: {}, resources: {} },
    instructions: INSTRUCTIONS,
    jsonSchemaValidator: NO_VALIDATION,
  });
  /** The SDK would show the message of an error to the client. */
  const guard = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof McpError)) failures.push(error);
      throw error;
    }
  };
  server.setRequestHandler(ListToolsRequestSchema, () => guard(async () => ({ tools: offer.tools() })));
  server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: args = {} } }) =>
    guard(async () => {
      const result = offer.call(name, args as JsonObject);
      if (!result) throw new McpError(ErrorCode.InvalidParams, `There is no tool ${name.slice(0, 100)}`);
      return result;
    }),
  );
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: offer.resources() }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: offer.templates(),
  }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) =>
    guard(async () => ({ contents: [{ uri, mimeType: JSON_TYPE, text: await readResource(offer, uri) }] })),
  );
  return server;
}

/** Rejects with an McpError for what the caller can act on. */
async function readResource(offer: Offer, uri: string): Promise<string> {
  try {
    return await offer.read(uri);
  } catch (error) {
    const { status, code, message, more } = refusalOf(error);
    const isMissing = status === 404 || status === 410;
    throw new McpError(isMissing ? RESOURCE_NOT_FOUND : ErrorCode.InvalidRequest, message, {
      uri,
      status,
      code,
      ...(more.details === undefined ? {} : { details: more.details }),
    });
  }
}
