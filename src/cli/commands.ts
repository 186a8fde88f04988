import { KEY } from '../api/key-kind.js';
import { FEATURES } from '../features.js';
import { subcommandOf } from './arguments.js';
import { type Command, type Commands, GROUPS, type RunnableCommand } from './command.js';
import { GENERAL_USAGE, usageOf } from './help.js';
import { ACCESS_COMMANDS } from './table/access-commands.js';
import { SERVICE_COMMANDS } from './table/service-commands.js';

type Table = Readonly<Record<string, RunnableCommand>>;

const { serve, migrate, collections } = SERVICE_COMMANDS;
const { keys, users, access } = ACCESS_COMMANDS;

type Run = RunnableCommand['run'];

/** A command of the core, which loads its code when it runs. */
const own = (
  command: Command,
  group: RunnableCommand['group'],
  load: () => Promise<Run>,
): RunnableCommand => ({
  ...command,
  group,
  run: async (...args) => (await load())(...args),
});

const CORE: Table = {
  serve: own(serve, 'service', async () => (await import('../serve.js')).serve),
  migrate: own(migrate, 'service', async () => (await import('./migrate-command.js')).migrateCommand),
  collections: own(
    collections,
    'service',
    async () => (await import('./collections-command.js')).collectionsCommand,
  ),
  keys: own(keys, 'access', async () => {
    const { managedCommand } = await import('./managed-command.js');
    const { STORED_KEYS } = await import('../api/key-endpoints.js');
    return (args, io) => managedCommand(KEY, STORED_KEYS, ACCESS_COMMANDS, args, io);
  }),
  users: {
    ...own(users, 'access', async () => (await import('./users-command.js')).usersCommand),
    isExtended: true,
  },
  access: own(access, 'access', async () => (await import('./access-command.js')).accessCommand),
};

/** All commands, those of features included. */
export async function allCommands(): Promise<Commands> {
  const features = await Promise.all(FEATURES.map(({ load }) => load()));
  const core = Object.entries(CORE).map(([name, command]): [string, RunnableCommand] => [
    name,
    extended(
      name,
      command,
      features.flatMap(({ default: { forms } }) => forms?.[name] ?? []),
    ),
  ]);
  const all = [...core, ...features.flatMap(({ default: { commands = {} } }) => Object.entries(commands))];
  return new Map(GROUPS.flatMap((group) => all.filter(([, command]) => command.group === group)));
}

/** A command of the core with the forms that features add to it. */
function extended(
  name: string,
  command: RunnableCommand,
  additions: readonly Pick<RunnableCommand, 'forms' | 'run'>[],
): RunnableCommand {
  if (additions.length === 0) return command;
  const forms = Object.assign({}, command.forms, ...additions.map((each) => each.forms));
  const whole = { ...command, forms };
  return {
    ...whole,
    run: (args, io, list) => {
      const { verb } = subcommandOf({ [name]: whole }, name, args);
      return (additions.find((each) => verb in each.forms) ?? command).run(args, io, list);
    },
  };
}

/** The command of a name or an alias. Loads the features only if the core has none, or if they add forms to it. */
export async function findCommand(
  text: string,
): Promise<[name: string, command: RunnableCommand] | undefined> {
  const isNamed = ([name, { aliases = [] }]: [string, Command]) => name === text || aliases.includes(text);
  const own = Object.entries(CORE).find(isNamed);
  return own && !own[1].isExtended ? own : [...(await allCommands())].find(isNamed);
}

/** The text after the message about a wrong usage; `name`: the command that was used, if there is one. */
export async function usageText(name: string | undefined): Promise<string> {
  const command = name === undefined ? undefined : (await allCommands()).get(name);
  return command === undefined
    ? `${GENERAL_USAGE}plinth --help lists the commands.\n`
    : `${usageOf(name!, command)}plinth ${name} --help says more.\n`;
}
