import { type CommandTable, formsOf, JSON_OPTION } from '../../cli/command.js';
import { CLIENT } from './client-kind.js';

/** The commands of the authorization server and its clients. */
export const COMMANDS = {
  clients: {
    summary: 'manages clients of the embedded authorization server',
    forms: formsOf(CLIENT),
    text: 'Manages clients of the embedded authorization server (AUTH_SERVER=on).',
    examples: [
      'plinth clients create --name terminal --redirect http://127.0.0.1/callback --scopes openid,self,items:write',
      'plinth clients create --name reports --confidential --scopes items:read --json',
      'plinth clients update ID --post-logout https://app.example.org/ --id-token-alg RS256',
      'plinth clients update ID --first-party yes',
    ],
    exits: [1, 69, 78],
    failure: 'there is no such client, or the values are not valid',
  },
  issuer: {
    summary: 'rotates the keys of the authorization server',
    forms: {
      'rotate-keys': {
        text: 'adds a signing key',
        options: {
          delay: { value: 'SECONDS', default: '60', text: 'when the new key begins to sign (60)' },
          ...JSON_OPTION,
        },
      },
    },
    text: 'The new key is published at once, and signs after the delay, when all processes and clients know it. Tokens of the\nformer key stay valid.',
    examples: ['plinth issuer rotate-keys', 'plinth issuer rotate-keys --delay 0 --json'],
    exits: [1, 69, 78],
    failure: 'the present keys cannot be read',
  },
  login: {
    summary: 'prints an access token of a user, or of a client',
    forms: {
      '': {
        options: {
          client: { value: 'ID', required: true, text: 'the client of the authorization server' },
          'secret-file': {
            value: 'FILE',
            text: 'a file with the secret of the client, for a token of the client',
          },
          scope: { value: 'SCOPES', text: 'scopes, separated by spaces (of a user: openid self)' },
          service: { value: 'URL', text: 'the service (http://127.0.0.1:3000, or PORT)' },
          ...JSON_OPTION,
        },
      },
    },
    text: 'Prints the address at which a user signs in (authorization code with PKCE), and then an access token.\nWith --secret-file, no user signs in (client credentials).',
    examples: [
      "plinth login --client ID --scope 'openid items:write'",
      'plinth login --client ID --service https://api.example.org --json',
      'plinth login --client ID --secret-file secret.txt --scope items:read',
    ],
    exits: [1, 69, 78],
    failure: 'no user signed in, or the authorization server refused',
  },
} as const satisfies CommandTable;
