import { createHash, randomUUID } from 'node:crypto';
import { accessSync, constants, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
import { type CheckedPlan, isRefused } from '../../schema/checked-plan.js';
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
export interface DeclarationPlan
  extends DeclarationFile,
    Pick<CheckedPlan, 'steps' | 'drops' | 'violations'> {
  /** Whether stored records prevent it. */
  readonly isRefused: boolean;
  readonly isApplied: boolean;
}

/** How many records of a collection a plan compares with its declaration. */
const MAX_COMPARED = 100_000;

/** The services of the endpoints that only pages use. */
export interface PageServices {
  readonly files: DeclarationFiles;
  readonly versions: () => Promise<readonly JsonObject[]>;
}

/** The endpoints of the pages of declarations. No document mentions them, since only the pages use them. */
export const DECLARATION_ENDPOINTS: readonly Endpoint<PageServices>[] = [
  {
    ...at('GET', DECLARATIONS_PATH, { scopes: ['admin'] }),
    offers: [JSON_TYPE],
    parameters: ['collection'],
    run: ({ files }, { query }) => secretReply(200, files.read(query.parameters.get('collection') ?? '')),
  },
  {
    ...at('POST', DECLARATIONS_PATH, { scopes: ['admin'] }),
    accepts: [JSON_TYPE],
    offers: [JSON_TYPE],
    notInBatch: 'declarations',
    run: async ({ files }, request) => secretReply(200, await files.change(request)),
  },
];

/** Empty: there is no file. */
export const etagOf = (text: string): string =>
  text && `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;

/** The files with declarations, of which an administrator plans and applies changes. */
export class DeclarationFiles {
  constructor(private readonly core: Pick<Core, 'config' | 'databaseUrl' | 'redeclare'>) {}

  /** The file of a collection. Throws 400 if no collection can have the name. */
  read(collection: string): DeclarationFile {
    if (!/^([a-z][a-z0-9_]{0,39})?$/.test(collection))
      throw refusal('/collection', 'must begin with a-z, and have a-z, 0-9 and _, up to 40 characters');
    const text = collection === '' ? '' : this.#textOf(`${collection}.json`);
    return { collection, text, etag: etagOf(text), applies: this.#applies() };
  }

  /** Plans the text of a declaration, and with `applies` writes it. Throws 400, 412. If-Match is the ETag of the file; absent: it is new. */
  async change({ body, headers }: Request): Promise<DeclarationPlan> {
    const { collection = '', text: given = '', applies } = body!.value as JsonObject;
    const file = this.read(String(collection));
    const name = `${file.collection}.json`;
    const text = formatted(String(given));
    if (file.collection === '') throw refusal('/collection', 'must be entered');
    if ((headers['if-match'] ?? '') !== file.etag) throw changedMeanwhile();
    try {
      const declarations = await loadDeclarations(this.core.config, new Map([[name, text]]));
      // Loaded on demand: a start without it takes less time.
      (await import('../../declarations/check-declarations.js')).checkDeclarations(declarations);
      const plan = await planCollections(this.core.databaseUrl, declarations, false, MAX_COMPARED);
      const { steps, drops, violations } = plan;
      const isApplied = applies === true && file.applies && !isRefused(plan, {});
      if (isApplied) await this.#apply(file, text);
      return { ...file, text, steps, drops, violations, isRefused: isRefused(plan, {}), isApplied };
    } catch (error) {
      throw refusalOf(error, name);
    }
  }

  /** Writes the file, and serves what it declares. A file that the service rejects becomes the former one again. */
  async #apply(file: DeclarationFile, text: string): Promise<void> {
    this.#replace(file, text);
    try {
      await this.core.redeclare!();
    } catch (error) {
      // An editor may have written the file meanwhile.
      const written = this.read(file.collection);
      if (written.text === text) this.#replace(written, file.text);
      throw error;
    }
  }

  /** Whether the process serves changed declarations, and can write their folder. */
  #applies(): boolean {
    const { config, redeclare } = this.core;
    if (redeclare === undefined || config.migrate !== 'auto' || config.collections === undefined)
      return false;
    try {
      accessSync(this.#pathOf('.'), constants.W_OK);
      return true;
    } catch {
      return false;
    }
  }

  #textOf(name: string): string {
    if (this.core.config.collections === undefined) {
      const { schema } =
        readDeclarations(undefined).collections.find((each) => `${each.name}.json` === name) ?? {};
      return schema ? formatted(JSON.stringify(schema)) : '';
    }
    try {
      return textOf(readFileSync(this.#pathOf(name)));
    } catch (error) {
      if ((error as { code?: string }).code === 'ENOENT') return '';
      throw error;
    }
  }

  /** A file is never there in part. A text that is empty removes it. */
  #replace({ collection, etag }: DeclarationFile, text: string): void {
    const path = this.#pathOf(`${collection}.json`);
    if (this.read(collection).etag !== etag) throw changedMeanwhile();
    if (text === '') return rmSync(path);
    const draft = this.#pathOf(`.${collection}.${randomUUID()}`);
    try {
      writeFileSync(draft, text);
      // Another process may have created the file meanwhile: a link replaces none.
      if (etag === '') linkSync(draft, path);
      else renameSync(draft, path);
    } catch (error) {
      throw (error as { code?: string }).code === 'EEXIST' ? changedMeanwhile() : error;
    } finally {
      rmSync(draft, { force: true });
    }
  }

  #pathOf(name: string): string {
    const { collections = '.', folder } = this.core.config;
    return join(pathIn(folder, collections), name);
  }
}

const changedMeanwhile = () =>
  preconditionFailed.variant({ message: 'The file was changed meanwhile. Nothing was written.' });

export const refusal = (path: string, message: string) =>
  invalid([{ path, message, keyword: 'declaration' }]);

/** The faults of a declaration as a problem; another error as it is. */
function refusalOf(error: unknown, name: string): unknown {
  if (error instanceof DeclarationError)
    return invalid(
      error.faults.map(({ file, pointer, reason }) => ({
        path: pointer,
        message: file.endsWith(name) ? reason : `${file}: ${reason}`,
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
