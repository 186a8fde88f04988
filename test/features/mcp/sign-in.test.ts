import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import t from '../../support/test.js';
import { authorizationServer, consent, REDIRECT } from '../issuer/authorization-server.js';
import { Visitor } from '../issuer/visitor.js';

t.test('a client signs its user in by what the 401 says', async (t) => {
  const server = await authorizationServer(t, { MCP: 'on' });
  const metadata = await server.service.send('GET', '/.well-known/oauth-protected-resource');
  const { id } = await server.register({ scopes: metadata.json.scopes_supported });
  let verifier = '';
  let opened: URL | undefined;
  let tokens: Awaited<ReturnType<OAuthClientProvider['tokens']>>;
  const provider: OAuthClientProvider = {
    redirectUrl: REDIRECT,
    clientMetadata: { redirect_uris: [REDIRECT] },
    clientInformation: () => ({ client_id: id }),
    tokens: () => tokens,
    saveTokens: (saved) => {
      tokens = saved;
    },
    redirectToAuthorization: (url) => {
      opened = url;
    },
    saveCodeVerifier: (saved) => {
      verifier = saved;
    },
    codeVerifier: () => verifier,
  };
  const open = () =>
    new StreamableHTTPClientTransport(new URL('/mcp', server.issuer), { authProvider: provider });
  const transport = open();
  const connect = async (through: StreamableHTTPClientTransport) => {
    const client = new Client({ name: 'test', version: '1' });
    t.teardown(() => client.close());
    await client.connect(through as Parameters<Client['connect']>[0]);
    return client;
  };
  await t.rejects(connect(transport), /Unauthorized/);
  const page = await consent({ visitor: new Visitor(server.issuer), url: opened! }, server.user);
  await transport.finishAuth(new URL(page.url).searchParams.get('code')!);
  const client = await connect(open());
  const { tools } = await client.listTools();
  // The user has the scope self.
  t.ok(tools.some(({ name }) => name === 'users_get'));
  t.notOk(tools.some(({ name }) => name === 'users_list'));
});
