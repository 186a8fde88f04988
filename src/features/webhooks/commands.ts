import { type CommandTable, JSON_OPTION } from '../../cli/command.js';

/** The commands of receivers of webhooks. */
export const COMMANDS = {
  webhooks: {
    summary: "receives webhooks on a developer's machine",
    forms: {
      listen: {
        text: 'receives webhooks until it is interrupted',
        options: {
          port: { value: 'PORT', default: '4000', text: 'the port to listen on (4000)' },
          service: { value: 'URL', text: 'the service (http://127.0.0.1:3000, or PORT)' },
          types: { value: 'TYPE[,TYPE]...', text: 'the events, as users.created or items.* (all)' },
          'key-file': { value: 'FILE', text: 'a file with an API key with the scope admin' },
          json: { text: 'print a JSON object for each message, and errors as JSON' },
        },
      },
    },
    text: 'Receives webhooks on this machine, verifies them, and prints them. It subscribes to the service and unsubscribes at the\nend; with WEBHOOK_SECRET it only listens. The service needs INSECURE=webhooks and WEBHOOK_ALLOW=127.0.0.1.',
    examples: [
      "plinth webhooks listen --types 'items.*'",
      'WEBHOOK_SECRET=whsec_... plinth webhooks listen --port 8080',
    ],
    exits: [1, 69, 78],
    failure: 'the service does not subscribe it, or the port is in use',
  },
  'verify-webhook': {
    summary: 'verifies a webhook on the standard input',
    forms: {
      '': {
        synopsis: "(--header 'NAME: VALUE'... | --headers FILE)",
        options: {
          header: { value: "'NAME: VALUE'", many: true, text: 'a field of the message; may be repeated' },
          headers: { value: 'FILE', text: 'a file with the fields of the message, one a line' },
          'secret-file': {
            value: 'FILE',

            text: 'a file with secrets, one a line; else WEBHOOK_SECRET',
          },
          path: { value: 'PATH', text: 'the path of the receiver, for the scheme x-signature' },
          scheme: {
            value: 'SCHEME',
            values: ['standard-webhooks', 'x-signature'],
            text: 'standard-webhooks by default',
          },
          tolerance: { value: 'SECONDS', text: 'how old a message may be (300)' },
          ...JSON_OPTION,
        },
      },
    },
    text: 'Says whether the body on the standard input is signed with one of the secrets.',
    examples: [
      'plinth verify-webhook --headers headers.txt --secret-file secret.txt < body.json',
      "WEBHOOK_SECRET=whsec_... plinth verify-webhook --header 'webhook-id: msg_1' --header ... < body.json",
    ],
    exits: [1],
    failure: 'the message is not authentic',
  },
} as const satisfies CommandTable;
