import { settingsOf } from '../../app/open-features.js';
import { configOf, type Io } from '../../cli/io.js';
import { type Config, ConfigError, configWarnings } from '../../config/config.js';
import { checkDeclarations } from '../../declarations/check-declarations.js';
import { loadDeclarations } from '../../declarations/load-declarations.js';
import { DeclarationError, type Declarations } from '../../declarations/read-declarations.js';
import { type Check, messageOf, resultsOf } from './check.js';

const settings = resultsOf('settings');
const declared = resultsOf('declarations');

/** All faults of the settings. Undefined: nothing that depends on them can be checked. */
export function checkSettings(io: Io): {
  readonly checks: readonly Check[];
  readonly config: Config | undefined;
} {
  const warnings = configWarnings(io.env, settingsOf(io.features)).map((text) =>
    settings.warning(text, 'correct the name, or remove the variable'),
  );
  try {
    const config = configOf(io);
    return { checks: warnings.length > 0 ? warnings : [settings.ok('all settings are valid')], config };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const faults = error.faults.map((text) => settings.problem(text, 'see docs/configuration.md'));
    return { checks: [...faults, ...warnings], config: undefined };
  }
}

/** All faults of the declarations. */
export async function checkDeclared(
  config: Config,
): Promise<{ readonly checks: readonly Check[]; readonly declarations: Declarations | undefined }> {
  try {
    const declarations = await loadDeclarations(config);
    checkDeclarations(declarations);
    const names = declarations.collections.map(({ name }) => name).join(', ');
    return { checks: [declared.ok(`${names} (${config.collections ?? 'built in'})`)], declarations };
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error;
    const faults = error.message.split('\n');
    return {
      checks: faults.map((text) => declared.problem(text, 'correct the file: docs/collections.md')),
      declarations: undefined,
    };
  }
}

/** A check that failed for a reason of its own. */
export const failedCheck = (name: string, error: unknown): Check =>
  resultsOf(name).problem(`this could not be checked: ${messageOf(error)}`, 'correct the cause, and repeat');
