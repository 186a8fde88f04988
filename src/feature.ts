import type { Documentation } from './api/doc.js';
import type { Base, Core, EndpointsOf, Openable, OpenFeature, Represent } from './app/open-features.js';
import type { OwnCredentials } from './auth/open-schemes.js';
import type { UserOfToken } from './auth/tokens/access-token.js';
import type { RunnableCommand } from './cli/command.js';
import type { Config } from './config/config.js';
import type { Run } from './db/db.js';
import type { OpenEmbedded } from './db/open-database.js';
import type { ProblemType } from './errors/problem.js';
import type { FieldNames } from './http/cors.js';
import { StartError } from './process/listen.js';
import type { Log } from './telemetry/log.js';

/** The parts of the service that `open` hands to a feature, by the names of their types. */
export type Auth = Core['auth'];
export type Feed = NonNullable<Core['feed']>;
export type ScopedCollection = Core['collections'][number];
export type Collection = ScopedCollection['whole'];
/** A statement that deletes expired rows. */
export type PruneTask = NonNullable<OpenFeature['prunes']>[number];

/** An optional capability: the default export of its `feature.ts`, which loads the rest of its code on demand. */
export interface Feature<Services = unknown> {
  /** Opens a server of PostgreSQL, which a service without DATABASE_URL uses. */
  readonly openServer?: OpenEmbedded;
  /** Opens the credentials that it issues, before all that needs callers. */
  openCredentials?(base: Base): OwnCredentials | Promise<OwnCredentials>;
  /** Opens the search for the users that tokens of other issuers mean. */
  openUsersOfTokens?(base: Base, users: () => Collection): Promise<UserOfToken | undefined>;
  /** Opens it in a service. */
  open?(core: Core): OpenFeature<Services> | Promise<OpenFeature<Services>>;
  /** The endpoints that it adds. They run with the `services` of the open feature. */
  readonly endpoints?: EndpointsOf<Services>;
  /** Loads the types of problems that only its endpoints have. */
  errors?(): Promise<readonly ProblemType[]>;
  /** Header fields, of its own or of other endpoints, that pages of other origins may set or read. */
  readonly fields?: FieldNames;
  /** The part of the feature in the documents about the API, besides the descriptions of endpoints. */
  readonly documentation?: Documentation;
  /** Adds the media types of representations to the descriptions of endpoints, which the open feature gives to their routes. */
  readonly represent?: Represent;
  /** Runs the service in another way than in this process alone. Resolves to undefined in a process that prints nothing. */
  serve?(config: Config, log: Log, program: Program): Promise<Started | undefined>;
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
