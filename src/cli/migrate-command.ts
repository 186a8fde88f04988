import { checkDeclarations } from '../declarations/check-declarations.js';
import { loadDeclarations } from '../declarations/load-declarations.js';
import type { Declarations } from '../declarations/read-declarations.js';
import type { ExitCode } from '../errors/exit-error.js';
import { type CheckedPlan, isRefused, planText } from '../schema/checked-plan.js';
import { listViolations, migrateCollections, planCollections } from '../schema/migrate-collections.js';
import type { SchemaStep } from '../schema/step.js';
import { parse } from './arguments.js';
import { configOf, type Io } from './io.js';
import { print } from './output.js';
import { SERVICE_COMMANDS } from './table/service-commands.js';
import { openForCommand } from './with-database.js';

/**
 * Plans or applies changes of the tables, or lists the records that violate the declarations: 1 if there are some. Throws
 * UsageError, DeclarationError and DatabaseError.
 */
export async function migrateCommand(args: string[], io: Io): Promise<ExitCode> {
  const { values } = parse(SERVICE_COMMANDS, 'migrate', '', args);
  const { json } = values;
  const config = configOf(io);
  const declarations = await loadDeclarations(config);
  checkDeclarations(declarations);
  io.process?.exitOnSignals();
  const database = await openForCommand(io, config);
  try {
    if (values.violations) return await printViolations(database.url, declarations, io, json);
    if (values.plan) {
      const plan = await planCollections(database.url, declarations, values['allow-drop']);
      print(io, json, planDocument(plan), planText(plan));
      // SQL files may correct the records.
      const isRejected = isRefused(plan, { allowViolations: values['allow-violations'] });
      return plan.sqlFiles === 0 && isRejected ? 1 : 0;
    }
    const plan = await migrateCollections(database.url, declarations, {
      allowDrop: values['allow-drop'],
      allowViolations: values['allow-violations'],
      onStep: ({ title }, index, of) =>
        json ? undefined : void io.stdout.write(`${index + 1} of ${of}: ${title}\n`),
    });
    const { steps, drops } = plan;
    const dropped = values['allow-drop'] ? drops : [];
    const done = { steps: [...steps, ...dropped].map(stepDocument) };
    if (json) {
      print(io, json, { ...done, not_done: values['allow-drop'] ? [] : drops.map(stepDocument) }, '');
      return 0;
    }
    if (steps.length === 0) io.stdout.write('The database matches the declarations.\n');
    if (!values['allow-drop'])
      for (const { title, loses } of drops)
        io.stdout.write(
          `Not done without --allow-drop: ${title}.${loses === undefined ? '' : ` It loses ${loses}.`}\n`,
        );
    return 0;
  } finally {
    await database.close();
  }
}

/** One line for each rule that a record violates, as it is found: there may be any number. */
async function printViolations(
  url: string,
  declarations: Declarations,
  io: Io,
  json?: boolean,
): Promise<ExitCode> {
  let found = 0;
  await listViolations(url, declarations, (collection, violation) => {
    found++;
    const { id, path, message } = violation;
    io.stdout.write(
      json
        ? `${JSON.stringify({ collection, ...violation })}\n`
        : `${collection} ${id}: ${path} ${message}\n`,
    );
  });
  return found === 0 ? 0 : 1;
}

function stepDocument({ title, sql, locks, loses, isConcurrent = false }: SchemaStep) {
  return { title, sql, locks, loses: loses ?? null, concurrent: isConcurrent };
}

function planDocument({ steps, drops, violations }: CheckedPlan) {
  return { steps: steps.map(stepDocument), drops: drops.map(stepDocument), violations };
}
