import { settingsOf } from '../../src/app/open-features.js';
import {
  type Config,
  configWarnings,
  type FeatureSettings,
  readConfig,
  settingNames,
} from '../../src/config/config.js';
import type { Env } from '../../src/config/env-reader.js';
import { FEATURES } from '../../src/features.js';

const OF_FEATURES = settingsOf(FEATURES);

/** The features without the settings that turn them off: a description of the API has all of them. */
export const ALWAYS_ON = FEATURES.map(({ settings: _, ...feature }) => feature);

/** The configuration of a program with all features. */
export const readSettings = (env: Env, overrides: Partial<Config> = {}): Config =>
  readConfig(env, overrides, '', OF_FEATURES);

/** The warnings of a program with all features. */
export const warningsOf = (env: Env): string[] => configWarnings(env, OF_FEATURES);

/** A configuration in which some settings of a feature, or its constants, have other values. */
export function withSettings<T extends object>(
  config: Config,
  settings: FeatureSettings<T>,
  values: Partial<T>,
): Config {
  const features = new Map(config.features).set(settings, { ...settings.of(config), ...values });
  return { ...config, features };
}

/** The names of all settings, sorted. */
export const settings = (): string[] => [...settingNames(OF_FEATURES)].sort();
