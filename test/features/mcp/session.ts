import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { JsonObject } from '../../../src/json.js';
import { noteError } from '../../support/provoked-errors.js';
import type { Test } from '../../support/test.js';

/** A guard against a call that never returns. */
const PATIENCE_MS = 300_000;

/** The result of a call: its value, which is also its text. */
export interface Called {
  readonly isError: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
  readonly value: any;
}

/** The client of the SDK, connected to a service. */
export async function connect(
  t: Test,
  url: string,
  headers: Record<string, string> = {},
): Promise<{ client: Client; call: (name: string, args?: JsonObject) => Promise<Called> }> {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers } });
  await client.connect(transport as Parameters<Client['connect']>[0]);
  t.teardown(() => client.close());
  return {
    client,
    call: async (name, args = {}) => {
      const result = await client.callTool({ name, arguments: args }, undefined, { timeout: PATIENCE_MS });
      const [content] = result.content as { text: string }[];
      t.same(JSON.parse(content!.text), result.structuredContent, 'the text is the value');
      const value = result.structuredContent as JsonObject;
      if (result.isError) noteError((value.error as JsonObject).status as number, content!.text);
      return { isError: result.isError === true, value };
    },
  };
}
