import type { Kind } from './api/kind.js';
import type { KnownScopes, Store, Stored } from './api/managed-endpoints.js';
import type { Core, Loaded, Openable, OpenFeature } from './app/open-features.js';
import type { Command, RunnableCommand } from './cli/command.js';
import type { Config } from './config/config.js';
import type { Db, Run } from './db/db.js';
import { StartError } from './process/listen.js';
import type { Log } from './telemetry/log.js';

/** The parts of the service that `open` hands to a feature, by the names of their types. */
export type Auth = Core['auth'];
export type Feed = NonNullable<Core['feed']>;
export type Idempotency = Core['idempotency'];
export type ScopedCollection = Core['collections'][number];
export type Collection = ScopedCollection['whole'];
/** A statement that deletes expired rows. */
export type PruneTask = NonNullable<OpenFeature['prunes']>[number];

/** An optional capability: the default export of its `feature.ts`, which loads the rest of its code on demand. */
export interface Feature<Services = unknown> extends Loaded<Services> {
  /** Runs the service in another way than in this process alone. Resolves to undefined in a process that prints nothing. */
  serve?(config: Config, log: Log, program: Program): Promise<Started | undefined>;
  /** Runs the service for development, with the declarations as their files are at any time. */
  watch?(config: Config, watching: Watching): Promise<Started>;
  /** The lines of the feature in the message of the start. */
  startLines?(config: Config, started: Started): Promise<readonly StartLine[]>;
  /** Commands of `plinth`, by their names. */
  readonly commands?: Readonly<Record<string, RunnableCommand>>;
}

/** The program that runs a service. */
export interface Program {
  /** Whether it prints no progress. */
  readonly isQuiet: boolean;
  /** One line for each setting without an effect, for the log of one process of the service. */
  readonly warnings: readonly string[];
  readonly features: readonly Openable[];
}

/** The program that runs a service for development. */
export interface Watching extends Pick<Program, 'isQuiet' | 'features'> {
  /** Reads the settings again: the folder with declarations may be a new one. Throws ConfigError. */
  readonly readConfig: () => Config;
  readonly log: Log;
  /** Prints what a change led to, or what is wrong with it. */
  readonly print: (text: string) => void;
}

/** A service that listens. */
export interface Started {
  readonly url: string;
  /** Runs a statement in its database. */
  readonly run: Run;
}

/** A line of the message of the start. */
export interface StartLine {
  readonly name: string;
  readonly text: string;
  /** The place among the lines. */
  readonly position: number;
}

/** A line of the list of features. */
export interface FeatureEntry extends Openable {
  /** The other features whose files it may import. */
  readonly uses?: readonly string[];
  load(): Promise<{ readonly default: Feature }>;
}

/** Awaits the import of code that needs an optional package. Throws StartError with its name if it is not installed. */
export async function withPackage<T>(loading: Promise<T>, setting: string, name: string): Promise<T> {
  try {
    return await loading;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    throw new StartError(`${setting} needs the package ${name}: npm install ${name}`);
  }
}

/** The command of managed resources. It loads their store when it runs. */
export const kindCommand = <Item extends Stored, Input>(
  kind: Kind,
  command: Command,
  load: () => Promise<Store<Item, Input, KnownScopes, { readonly db: Db }>>,
): RunnableCommand => ({
  ...command,
  group: 'access',
  run: async (args, io) => {
    const { managedCommand } = await import('./cli/managed-command.js');
    return managedCommand(kind, await load(), command, args, io);
  },
});
