import type { RunnableCommand } from './cli/command.js';
import type { Core, Openable, OpenFeature } from './open-features.js';

/** An optional capability: the default export of its `feature.ts`, which loads the rest of its code on demand. */
export interface Feature {
  /** Opens it in a service. */
  open?(core: Core): OpenFeature | Promise<OpenFeature>;
  /** Opens it for a description of its endpoints, which do not run; absent: as `open` does. */
  describe?(core: Core): OpenFeature | Promise<OpenFeature>;
  /** Commands of `plinth`, by their names. */
  readonly commands?: Readonly<Record<string, RunnableCommand>>;
}

/** A line of the list of features. */
export interface FeatureEntry extends Openable {
  /** The other features whose files it may import. */
  readonly uses?: readonly string[];
  load(): Promise<{ readonly default: Feature }>;
}
