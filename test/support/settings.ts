import { settingsOf } from '../../src/app/open-features.js';
import {
  type Config,
  type CoreConfig,
  configWarnings,
  type FeatureSettings,
  readConfig,
  settingNames,
} from '../../src/config/config.js';
import type { Env } from '../../src/config/env-reader.js';
import type { ACCOUNTS_SETTINGS } from '../../src/features/accounts/settings.js';
import type { ISSUER_SETTINGS } from '../../src/features/issuer/settings.js';
import type { JOB_SETTINGS } from '../../src/features/jobs/settings.js';
import type { REPLICA_SETTINGS } from '../../src/features/replicas/settings.js';
import type { WEBHOOK_SETTINGS } from '../../src/features/webhooks/settings.js';
import { FEATURES } from '../../src/features.js';

const OF_FEATURES = settingsOf(FEATURES);

/** The features without the settings that turn them off: a description of the API has all of them. */
export const ALWAYS_ON = FEATURES.map(({ settings: _, ...feature }) => feature);

type Of<S> = S extends FeatureSettings<infer T> ? T : never;

/** Settings and constants that have other values, also those of features. */
export type Constants = Partial<
  CoreConfig &
    Of<typeof ACCOUNTS_SETTINGS> &
    Of<typeof ISSUER_SETTINGS> &
    Of<typeof JOB_SETTINGS> &
    Of<typeof REPLICA_SETTINGS> &
    Of<typeof WEBHOOK_SETTINGS>
>;

/** The configuration of a program with all features. */
export const readSettings = (env: Env, overrides: Constants = {}): Config =>
  readConfig(env, overrides, '', OF_FEATURES);

/** The warnings of a program with all features. */
export const warningsOf = (env: Env): string[] => configWarnings(env, OF_FEATURES);

/** The names of all settings, sorted. */
export const settings = (): string[] => [...settingNames(OF_FEATURES)].sort();
