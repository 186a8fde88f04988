import { FEATURES } from '../../src/features.js';
import './hash-cost.js';

/** The service as a program with other constants, which PLINTH_TEST_CONSTANTS has as JSON, and hashes that cost little. */
const constants = JSON.parse(process.env.PLINTH_TEST_CONSTANTS!) as Record<string, unknown>;

for (const { settings } of FEATURES) {
  if (settings === undefined) continue;
  const { read, complete } = settings.part;
  Object.assign(settings.part, {
    read: (...args: Parameters<typeof read>) => replaced(read(...args)),
    complete: (...args: Parameters<NonNullable<typeof complete>>) => ({
      ...complete?.(...args),
      ...constants,
    }),
  });
}

/** Settings of one feature, which has no members of others. */
function replaced(own: unknown): unknown {
  const values = own as Record<string, unknown>;
  return Object.fromEntries(Object.keys(values).map((name) => [name, constants[name] ?? values[name]]));
}

await import('../../src/main.js');
