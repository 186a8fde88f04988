import { FEATURES } from '../features.js';
import { type Command, type Commands, GROUPS, type RunnableCommand } from './command.js';
import { GENERAL_USAGE, usageOf } from './help.js';
import { SERVICE_COMMANDS } from './table/service-commands.js';

type Table = Readonly<Record<string, RunnableCommand>>;

const { serve, migrate, collections } = SERVICE_COMMANDS;

type Run = RunnableCommand['run'];

/** A command of the core, which loads its code when it runs. */
const own = (command: Command, load: () => Promise<Run>): RunnableCommand => ({
  ...command,
  group: 'service',
  run: async (...args) => (await load())(...args),
});

const CORE: Table = {
  serve: own(serve, async () => (await import('../serve.js')).serve),
  migrate: own(migrate, async () => (await import('./migrate-command.js')).migrateCommand),
  collections: own(collections, async () => (await import('./collections-command.js')).collectionsCommand),
};

/** All commands, those of features included. */
export async function allCommands(): Promise<Commands> {
  const features = await Promise.all(FEATURES.map(({ load }) => load()));
  const added = features.flatMap(({ default: { commands = {} } }) => Object.entries(commands));
  const all: [string, RunnableCommand][] = [...Object.entries(CORE), ...added];
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
