import { explanationOf } from '../api/access-endpoints.js';
import { openCollections } from '../api/record-actions.js';
import { type ExitCode, ExitError } from '../errors/exit-error.js';
import { parseUuid } from '../uuid.js';
import { explanationText, VERBS } from './access-outcome.js';
import { parse, subcommandOf } from './arguments.js';
import { type Io, UsageError } from './io.js';
import { print } from './output.js';
import { ACCESS_COMMANDS } from './table/access-commands.js';
import { idOf, withResources } from './with-database.js';

/** Explains access rules, or tests them. Throws UsageError and ExitError. */
export async function accessCommand(args: string[], io: Io): Promise<ExitCode> {
  const { verb, rest } = subcommandOf(ACCESS_COMMANDS, 'access', args);
  if (verb === 'test') return (await import('./access-test-command.js')).testRules(rest, io);
  await explainRequest(rest, io);
  return 0;
}

/** Explains which access rules apply to a request of a user. */
async function explainRequest(args: string[], io: Io): Promise<void> {
  const { values, positionals } = parse(ACCESS_COMMANDS, 'access', 'explain', args);
  const [method, path] = positionals as [string, string];
  const wanted = VERBS[method];
  if (wanted === undefined)
    throw new UsageError(`METHOD must be one of ${Object.keys(VERBS).join(', ')}`, 'access');
  await withResources(io, async (resources, database, config) => {
    const { db } = database;
    const services = { db, collections: openCollections(db, resources, config.tombstones) };
    const isEmail = values.as.includes('@') && !parseUuid(values.as);
    const subject = isEmail ? await idOf(database, values.as) : values.as;
    const { collection, access } = await explanationOf(services, path, { subject, scopes: values.scopes });
    const explanation = access.find(({ verb }) => verb === wanted);
    if (!explanation) throw new ExitError(`${collection} has no access rules: the scopes alone decide`);
    print(io, values.json, explanation, explanationText(explanation));
    if (explanation.permitted === false) throw new ExitError(`${method} ${path} is not permitted`);
  });
}
