import { type CommandTable, JSON_OPTION } from '../../cli/command.js';

const SCOPE_LIST = 'SCOPE[,SCOPE]...';
const PASSWORD = {
  'password-stdin': { text: 'read the password from the standard input, as it does without a terminal' },
} as const;

const SET_SCOPES = {
  text: 'replaces the scopes',
  operands: 'EMAIL',
  options: {
    scopes: { value: SCOPE_LIST, required: true, text: 'what the user may do besides; none if empty' },
    ...JSON_OPTION,
  },
} as const;

/** The command about users. */
export const COMMANDS = {
  users: {
    summary: 'manages users, how they sign in and what they may do',
    forms: {
      create: {
        text: 'creates a user',
        operands: 'EMAIL',
        options: {
          name: { value: 'NAME', required: true, text: 'the name of the user' },
          scopes: { value: SCOPE_LIST, text: 'what the user may do besides' },
          ...PASSWORD,
          ...JSON_OPTION,
        },
      },
      'set-password': {
        text: 'replaces the password, makes passkeys second factors, and ends sessions and the access of applications',
        operands: 'EMAIL',
        options: {
          ...PASSWORD,
          ...JSON_OPTION,
        },
      },
      scopes: SET_SCOPES,
      // The former name.
      'set-scopes': SET_SCOPES,
      list: { text: 'prints one JSON object a line, the newest first', options: JSON_OPTION },
      show: { text: 'prints the account of a user', operands: 'EMAIL', options: JSON_OPTION },
      disable: {
        text: 'ends the sessions, tokens and keys of a user, who cannot sign in any more',
        operands: 'EMAIL',
        options: JSON_OPTION,
      },
      'remove-second-factor': {
        text: 'removes the authenticator app and the passkeys of a user who has lost them',
        operands: 'EMAIL',
        options: JSON_OPTION,
      },
      enable: { text: 'lets a user sign in again', operands: 'EMAIL', options: JSON_OPTION },
      delete: {
        text: 'deletes a user with all that belongs to it',
        operands: 'EMAIL',
        options: JSON_OPTION,
      },
    },
    text: 'Reads the password from the terminal, or the first line of the standard input. A user may always read and change its\nown records; --scopes permits more with the authorization server (AUTH_SERVER). With AUTH=basic,\nBASIC_SCOPES decides for all users.',
    examples: [
      'plinth users create ann@example.org --name Ann --scopes items:write',
      'plinth users set-password ann@example.org < password.txt',
      'plinth users disable ann@example.org',
    ],
    exits: [1, 69, 78],
    failure: 'there is no such user, or the values are not valid',
  },
} as const satisfies CommandTable;
