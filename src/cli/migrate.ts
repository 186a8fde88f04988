import { readConfig } from '../config/config.js';
import { openDatabase } from '../db/open.js';
import { checkDeclarations } from '../declarations/check-declarations.js';
import { loadDeclarations } from '../declarations/load-declarations.js';
import { migrateCollections, planCollections } from '../schema/migrate-collections.js';
import { planText } from '../schema/plan-text.js';
import { createLog } from '../telemetry/log.js';
import { exitOnSignals, parse } from './exit.js';
import { USAGE } from './usage.js';

/** Plans or applies changes of the tables. Throws UsageError, DeclarationError and DatabaseError. */
export async function migrateCommand(args: string[]): Promise<void> {
  const boolean = { type: 'boolean', default: false } as const;
  const { values } = parse(
    { args, options: { plan: boolean, 'allow-drop': boolean, 'allow-violations': boolean } },
    USAGE.migrate,
  );
  const config = readConfig();
  const declarations = await loadDeclarations(config);
  checkDeclarations(declarations);
  exitOnSignals();
  const database = await openDatabase(config, createLog(config.logLevel), { join: true });
  try {
    if (values.plan) {
      process.stdout.write(planText(await planCollections(database.url, declarations)));
      return;
    }
    const { steps, drops } = await migrateCollections(database.url, declarations, {
      allowDrop: values['allow-drop'],
      allowViolations: values['allow-violations'],
      onStep: ({ title }, index, of) => void process.stdout.write(`${index + 1} of ${of}: ${title}\n`),
    });
    if (steps.length === 0) process.stdout.write('The database matches the declarations.\n');
    if (!values['allow-drop'])
      for (const { title, loses } of drops)
        process.stdout.write(`Not done without --allow-drop: ${title}. It loses ${loses}.\n`);
  } finally {
    await database.close();
  }
}
