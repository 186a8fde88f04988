import { type CommandTable, JSON_OPTION } from '../command.js';

const SCOPE_LIST = 'SCOPE[,SCOPE]...';
/** The commands about callers and users. */
export const ACCESS_COMMANDS = {
  keys: {
    summary: 'manages API keys and client certificates',
    forms: {
      create: {
        text: 'creates a key, which is printed once, or registers a certificate',
        options: {
          label: { value: 'LABEL', required: true, text: 'a name for people' },
          subject: { value: 'SUBJECT', required: true, text: 'the caller that the key identifies' },
          scopes: { value: SCOPE_LIST, required: true, text: 'what the caller may do' },
          expires: { value: 'TIME', text: '90d, or a time as in RFC 3339: 2030-01-01T00:00:00Z' },
          certificate: { value: 'FILE', isFile: true, text: 'a client certificate in PEM instead of a key' },
          ...JSON_OPTION,
        },
      },
      list: { text: 'prints one JSON object a line, the newest first', options: JSON_OPTION },
      revoke: { text: 'revokes a key or a certificate at once', operands: 'ID', options: JSON_OPTION },
    },
    text: 'Manages API keys and client certificates in DATABASE_URL, or else in the database of DATA_DIR, also while a service\nruns on it. Only the SHA-256 of a key is stored.',
    examples: [
      'plinth keys create --label ci --subject reports --scopes items:read,users:read --expires 90d',
      'plinth keys list --json',
    ],
    exits: [1, 69, 78],
    failure: 'there is no such key',
  },
  users: {
    summary: 'creates users, and sets how they sign in and what they may do',
    forms: {
      create: {
        text: 'creates a user',
        operands: 'EMAIL',
        options: {
          name: { value: 'NAME', required: true, text: 'the name of the user' },
          scopes: { value: SCOPE_LIST, text: 'what the user may do besides' },
          'password-stdin': {
            text: 'read the password from the standard input, as it does without a terminal',
          },
          ...JSON_OPTION,
        },
      },
      'set-password': {
        text: 'replaces the password, removes passkeys, and ends sessions and the access of applications',
        operands: 'EMAIL',
        options: {
          'password-stdin': {
            text: 'read the password from the standard input, as it does without a terminal',
          },
          ...JSON_OPTION,
        },
      },
      'set-scopes': {
        text: 'replaces the scopes',
        operands: 'EMAIL',
        options: {
          scopes: { value: SCOPE_LIST, required: true, text: 'what the user may do besides; none if empty' },
          ...JSON_OPTION,
        },
      },
    },
    text: 'Reads the password from the terminal, or the first line of the standard input. A user may always read and change its\nown records; --scopes permits more.',
    examples: [
      'plinth users create ann@example.org --name Ann --scopes items:write',
      'plinth users set-password ann@example.org < password.txt',
    ],
    exits: [1, 69, 78],
    failure: 'there is no such user, or the values are not valid',
  },
} as const satisfies CommandTable;
