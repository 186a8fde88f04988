import type { RunnableCommand } from './cli/command.js';

/** An optional capability: the default export of its `feature.ts`, which loads the rest of its code on demand. */
export interface Feature {
  /** Commands of `plinth`, by their names. */
  readonly commands?: Readonly<Record<string, RunnableCommand>>;
}

/** A line of the list of features. */
export interface FeatureEntry {
  readonly name: string;
  /** The other features whose files it may import. */
  readonly uses?: readonly string[];
  load(): Promise<{ readonly default: Feature }>;
}
