import { FEATURES } from '../features.js';
import { type Command, type Commands, GROUPS, type RunnableCommand } from './command.js';
import { GENERAL_USAGE, usageOf } from './help.js';
import { ACCESS_COMMANDS } from './table/access-commands.js';
import { SERVICE_COMMANDS } from './table/service-commands.js';

type Table = Readonly<Record<string, RunnableCommand>>;

const { serve, migrate, collections } = SERVICE_COMMANDS;
const { keys, users } = ACCESS_COMMANDS;

/** The commands of the core. Each loads its code when it runs. */
const CORE: Table = {
  serve: {
    ...serve,
    group: 'service',
    run: async (args, io) => (await import('../serve.js')).serve(args, io),
  },
  migrate: {
    ...migrate,
    group: 'service',
    run: async (args, io) => (await import('./migrate.js')).migrateCommand(args, io),
  },
  collections: {
    ...collections,
    group: 'service',
    run: async (args, io) => (await import('./collections.js')).collectionsCommand(args, io),
  },
  keys: {
    ...keys,
    group: 'access',
    run: async (args, io) => (await import('./keys.js')).keysCommand(args, io),
  },
  users: {
    ...users,
    group: 'access',
    run: async (args, io) => (await import('./users.js')).usersCommand(args, io),
  },
};

/** All commands, those of features included. */
export async function allCommands(): Promise<Commands> {
  const features = await Promise.all(FEATURES.map(({ load }) => load()));
  const tables: Table[] = [CORE, ...features.map(({ default: { commands = {} } }) => commands)];
  const all = tables.flatMap((table) => Object.entries(table));
  return new Map(GROUPS.flatMap((group) => all.filter(([, command]) => command.group === group)));
}

/** The command of a name or an alias. Loads the features only if the core has none. */
export async function findCommand(
  text: string,
): Promise<[name: string, command: RunnableCommand] | undefined> {
  const isNamed = ([name, { aliases = [] }]: [string, Command]) => name === text || aliases.includes(text);
  return Object.entries(CORE).find(isNamed) ?? [...(await allCommands())].find(isNamed);
}

/** The text after the message about a wrong usage; `name`: the command that was used, if there is one. */
export async function usageText(name: string | undefined): Promise<string> {
  const command = name === undefined ? undefined : (await allCommands()).get(name);
  return command === undefined
    ? `${GENERAL_USAGE}plinth --help lists the commands.\n`
    : `${usageOf(name!, command)}plinth ${name} --help says more.\n`;
}
