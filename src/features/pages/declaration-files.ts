import { createHash, randomUUID } from 'node:crypto';
import { accessSync, constants, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { secretReply } from '../../actions/secret-reply.js';
import { at, type Endpoint } from '../../api/endpoint.js';
import type { Core } from '../../app/open-features.js';
import { pathIn } from '../../config/parsers.js';
import { loadDeclarations } from '../../declarations/load-declarations.js';
import { DeclarationError, readDeclarations } from '../../declarations/read-declarations.js';
import { ExitError } from '../../errors/exit-error.js';
import { invalid } from '../../errors/input-errors.js';
import { preconditionFailed } from '../../errors/record-errors.js';
import { textOf } from '../../formats/text-encoding.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { Request } from '../../http/request.js';
import type { JsonObject } from '../../json.js';
import { isRefused } from '../../schema/checked-plan.js';
import { planCollections } from '../../schema/migrate-collections.js';

/** No collection can have this name. */
export const DECLARATIONS_PATH = '/declaration-files';

/** The declaration of a collection as its file has it. */
export interface DeclarationFile {
  readonly collection: string;
  /** Empty: there is no file. */
  readonly text: string;
  /** The ETag of the text; empty: there is no file. */
  readonly etag: string;
  /** Whether the service can write the file and serve what it declares. */
  readonly applies: boolean;
}

/** The effect of a declaration. */
export type DeclarationPlan = Awaited<ReturnType<typeof planOf>>;

/** How many records of a collection a plan compares with its declaration. */
const MAX_COMPARED = 100_000;

/** The parts of the service with which the page of a declaration works. */
export type DeclarationServices = Pick<Core, 'config' | 'databaseUrl' | 'redeclare'>;

/** The endpoints of the pages of declarations. No document mentions them, since only the pages use them. */
export const DECLARATION_ENDPOINTS: readonly Endpoint<DeclarationServices>[] = [
  {
    ...at('GET', DECLARATIONS_PATH, { scopes: ['admin'] }),
    offers: [JSON_TYPE],
    parameters: ['collection'],
    run: (core, { query }) => secretReply(200, fileOf(core, query.parameters.get('collection') ?? '')),
  },
  {
    ...at('POST', DECLARATIONS_PATH, { scopes: ['admin'] }),
    accepts: [JSON_TYPE],
    offers: [JSON_TYPE],
    notInBatch: 'declarations',
    run: async (core, request) => secretReply(200, await planOf(core, request)),
  },
];

/** Empty: there is no file. */
export const etagOf = (text: string): string =>
  text && `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;

/** The file of a collection. Throws 400 if no collection can have the name, 412 if the file has another ETag than `expected`. */
function fileOf(core: DeclarationServices, collection: string, expected?: string): DeclarationFile {
  if (!/^([a-z][a-z0-9_]{0,39})?$/.test(collection))
    throw refusal('/collection', 'must begin with a-z, and have a-z, 0-9 and _, up to 40 characters');
  const builtIn = () => readDeclarations(undefined).collections.find(({ name }) => name === collection);
  const path = pathOf(core, `${collection}.json`);
  const stored = () => (existsSync(path) ? textOf(readFileSync(path)) : '');
  const text =
    core.config.collections === undefined ? formatted(JSON.stringify(builtIn()?.schema) ?? '') : stored();
  const current = { collection, text, etag: etagOf(text), applies: canApply(core) };
  if (expected === undefined || expected === current.etag) return current;
  throw preconditionFailed.variant({
    message: 'The file is there already, or was changed meanwhile. Nothing was written.',
    details: { current },
  });
}

/** Plans the text of a declaration, and with `applies` writes it. Throws 400, 412. If-Match is the ETag of the file; absent: it is new. */
async function planOf(core: DeclarationServices, { body, headers }: Request) {
  const { collection = '', text: given = '', applies } = body!.value as JsonObject;
  const file = fileOf(core, String(collection), headers['if-match'] ?? '');
  const name = `${file.collection}.json`;
  const text = formatted(String(given));
  try {
    const declarations = await loadDeclarations(core.config, new Map([[name, text]]));
    // Loaded on demand: a start without it takes less time.
    (await import('../../declarations/check-declarations.js')).checkDeclarations(declarations);
    const plan = await planCollections(core.databaseUrl, declarations, false, MAX_COMPARED);
    const { steps, drops, violations } = plan;
    // Stored records may prevent it.
    const refused = isRefused(plan, {});
    const isApplied = applies === true && file.applies && !refused;
    if (isApplied) {
      replace(core, file, text);
      // A file that the service rejects becomes the former one again.
      await core.redeclare!().catch((error) => {
        replace(core, { ...file, etag: etagOf(text) }, file.text);
        throw error;
      });
    }
    return { ...file, text, steps, drops, violations, isRefused: refused, isApplied };
  } catch (error) {
    throw refusalOf(error, name);
  }
}

/** Whether the process serves changed declarations, and can write their folder. */
function canApply(core: DeclarationServices): boolean {
  const { config, redeclare } = core;
  if (!redeclare || config.migrate !== 'auto' || config.collections === undefined) return false;
  try {
    accessSync(pathOf(core, '.'), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** A file is never there in part. A text that is empty removes it. Throws 412 if another process has changed the file. */
function replace(core: DeclarationServices, { collection, etag }: DeclarationFile, text: string): void {
  fileOf(core, collection, etag);
  const path = pathOf(core, `${collection}.json`);
  if (text === '') return rmSync(path);
  const draft = pathOf(core, `.${collection}.${randomUUID()}`);
  writeFileSync(draft, text);
  renameSync(draft, path);
}

const pathOf = ({ config: { collections = '.', folder } }: DeclarationServices, name: string): string =>
  join(pathIn(folder, collections), name);

export const refusal = (path: string, message: string) =>
  invalid([{ path, message, keyword: 'declaration' }]);

/** The faults of a declaration as a problem; another error as it is. */
function refusalOf(error: unknown, name: string): unknown {
  if (error instanceof DeclarationError)
    return invalid(
      error.faults.map(({ file, pointer, reason }) => ({
        path: pointer,
        message: basename(file) === name ? reason : `${file}: ${reason}`,
        keyword: 'declaration',
      })),
    );
  return error instanceof ExitError ? refusal('', error.message) : error;
}

/** A declaration with two spaces and its members in their order; a text that is no JSON as it is. */
export function formatted(text: string): string {
  try {
    return `${JSON.stringify(JSON.parse(text), null, 2)}\n`;
  } catch {
    return text;
  }
}
