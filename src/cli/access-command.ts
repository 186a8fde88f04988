import { type AccessServices, explanationOf } from '../api/access-endpoints.js';
import { openCollections } from '../api/record-actions.js';
import { collectionsFor } from '../app/app-parts.js';
import { loadDeclarations } from '../declarations/load-declarations.js';
import { type ExitCode, ExitError } from '../errors/exit-error.js';
import { ensureCollections } from '../schema/ensure-collections.js';
import { storedResources } from '../schema/stored-resources.js';
import { parseUuid } from '../uuid.js';
import { parse, subcommandOf } from './arguments.js';
import { UsageError } from './exit.js';
import { explanationText } from './explanation-text.js';
import type { Io } from './io.js';
import { print } from './output.js';
import { ACCESS_COMMANDS } from './table/access-commands.js';
import { idOf } from './users-command.js';
import { logOf, withDatabase } from './with-database.js';

const VERBS: Readonly<Record<string, string>> = {
  GET: 'read',
  HEAD: 'read',
  POST: 'create',
  PUT: 'update',
  PATCH: 'update',
  DELETE: 'delete',
};

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
  const [method, path, ...others] = positionals;
  const wanted = VERBS[method ?? ''];
  if (wanted === undefined || path === undefined || others.length > 0)
    throw new UsageError(`name a method (${Object.keys(VERBS).join(', ')}) and a path`, 'access');
  await withDatabase(io, async (database, config) => {
    const { db } = database;
    const declarations = await loadDeclarations(config);
    await ensureCollections(database, declarations, config.migrate, logOf(io, config));
    const resources = collectionsFor(config, await storedResources(database, declarations));
    const services: AccessServices = { db, collections: openCollections(db, resources, config.tombstones) };
    const subject =
      values.as.includes('@') && !parseUuid(values.as) ? await idOf(database, values.as) : values.as;
    const { collection, access } = await explanationOf(services, path, { subject, scopes: values.scopes });
    const explanation = access.find(({ verb }) => verb === wanted);
    if (!explanation) throw new ExitError(`${collection} has no access rules: the scopes alone decide`);
    print(io, values.json, explanation, explanationText(explanation));
    if (explanation.permitted === false) throw new ExitError(`${method} ${path} is not permitted`);
  });
}
