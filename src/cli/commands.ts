import { RECORD_COMMANDS } from '../features/transfer/commands.js';
import { WEBHOOK_COMMANDS } from '../features/webhooks/commands.js';
import type { Command } from './command.js';
import { ACCESS_COMMANDS } from './table/access-commands.js';
import { SERVICE_COMMANDS } from './table/service-commands.js';

const { serve, migrate, collections, backup, restore, openapi, doctor, completion } = SERVICE_COMMANDS;

/** All commands, in the order of the help. */
export const COMMANDS = {
  serve,
  migrate,
  collections,
  ...RECORD_COMMANDS,
  backup,
  restore,
  ...ACCESS_COMMANDS,
  ...WEBHOOK_COMMANDS,
  openapi,
  doctor,
  completion,
} as const;

export type CommandName = keyof typeof COMMANDS;

/** The same, for code that treats all alike. */
export const ALL_COMMANDS = Object.entries(COMMANDS) as [CommandName, Command][];

/** The command of a name or an alias. */
export function findCommand(text: string): CommandName | undefined {
  return ALL_COMMANDS.find(([name, { aliases = [] }]) => name === text || aliases.includes(text))?.[0];
}
