import { readConfig } from '../config/config.js';
import { openDatabase } from '../db/open.js';
import { checkDeclarations } from '../declarations/check-declarations.js';
import { loadDeclarations } from '../declarations/load-declarations.js';
import { type CheckedPlan, migrateCollections, planCollections } from '../schema/migrate-collections.js';
import { planText } from '../schema/plan-text.js';
import type { Step } from '../schema/step.js';
import { createLog } from '../telemetry/log.js';
import { parse } from './arguments.js';
import { exitOnSignals } from './exit.js';
import { print } from './output.js';

/** Plans or applies changes of the tables. Throws UsageError, DeclarationError and DatabaseError. */
export async function migrateCommand(args: string[]): Promise<void> {
  const { values } = parse('migrate', '', args);
  const { json } = values;
  const config = readConfig();
  const declarations = await loadDeclarations(config);
  checkDeclarations(declarations);
  exitOnSignals();
  const database = await openDatabase(config, createLog(config.logLevel), { join: true });
  try {
    if (values.plan) {
      const plan = await planCollections(database.url, declarations);
      return print(json, planDocument(plan), planText(plan));
    }
    const { steps, drops } = await migrateCollections(database.url, declarations, {
      allowDrop: values['allow-drop'],
      allowViolations: values['allow-violations'],
      onStep: ({ title }, index, of) =>
        json ? undefined : void process.stdout.write(`${index + 1} of ${of}: ${title}\n`),
    });
    const dropped = values['allow-drop'] ? drops : [];
    const done = { steps: [...steps, ...dropped].map(stepDocument) };
    if (json)
      return print(json, { ...done, not_done: values['allow-drop'] ? [] : drops.map(stepDocument) }, '');
    if (steps.length === 0) process.stdout.write('The database matches the declarations.\n');
    if (!values['allow-drop'])
      for (const { title, loses } of drops)
        process.stdout.write(`Not done without --allow-drop: ${title}. It loses ${loses}.\n`);
  } finally {
    await database.close();
  }
}

function stepDocument({ title, sql, locks, loses, isConcurrent = false }: Step) {
  return { title, sql, locks, loses: loses ?? null, concurrent: isConcurrent };
}

function planDocument({ steps, drops, violations }: CheckedPlan) {
  return { steps: steps.map(stepDocument), drops: drops.map(stepDocument), violations };
}
