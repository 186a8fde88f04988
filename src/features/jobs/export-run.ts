import type { Db } from '../../db/db.js';
import { payloadTooLarge } from '../../errors/input-errors.js';
import { badRequest } from '../../errors/request-errors.js';
import { JSON_TYPE, NDJSON_TYPE } from '../../http/media-types.js';
import type { Rows } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import type { Action } from '../../http/router.js';
import { type RowsBody, writeRows } from '../../transport/array-stream.js';
import { addResult, clearParts, PART_BYTES } from './job-parts.js';
import { LeaseLost } from './job-store.js';

/** The whole list that a query selects, as a line for each record. Throws 400 for a query that selects a page or groups. */
export async function wholeList(list: Action, request: Request): Promise<Rows> {
  const type = request.type === JSON_TYPE ? NDJSON_TYPE : request.type;
  const { content } = await list.run({ ...request, type });
  if (content?.kind === 'rows') return content;
  throw badRequest(
    'An export is a whole list: leave out page, limit, after, before, include, excerpts, group and aggregate.',
  );
}

/** Writes the list into the database, as the result of a job. Returns its bytes. Throws LeaseLost, and 413. */
export async function writeResult(
  db: Db,
  job: { readonly id: string; readonly lease: string },
  list: Rows,
  options: {
    readonly isArray: boolean;
    readonly maxBytes: number;
    readonly onWritten: (bytes: number) => void;
  },
): Promise<number> {
  await clearParts(db.run, job.id);
  const sink = new ResultSink(async (position, bytes) => {
    if (position + bytes.length > options.maxBytes) throw payloadTooLarge(options.maxBytes);
    if (!(await addResult(db.run, job.id, job.lease, position, bytes))) throw new LeaseLost();
    options.onWritten(position + bytes.length);
  }, options.isArray);
  await list.open((rows) => writeRows(rows, list, NO_HEAD, sink));
  return sink.position;
}

/** The result of a job has no head. */
const NO_HEAD = { status: 200, headers: [] };
const [LINE_FEED, COMMA] = [0x0a, 0x2c];

/** Receives the body of a list, and stores it in parts of one size; `isArray`: its lines become the elements of an array. */
class ResultSink implements RowsBody {
  position = 0;
  #parts: Buffer[] = [];
  #bytes = 0;
  /** Whether a comma precedes the next element. */
  #isOpen = false;

  constructor(
    readonly store: (position: number, bytes: Buffer) => Promise<void>,
    readonly isArray: boolean,
  ) {}

  begin(): void {
    if (this.isArray) this.#add(Buffer.from('['));
  }

  async write(bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return;
    this.#add(this.isArray ? this.#elementsOf(bytes) : bytes);
    if (this.#bytes < PART_BYTES) return;
    let rest = Buffer.concat(this.#parts);
    for (; rest.length >= PART_BYTES; rest = rest.subarray(PART_BYTES))
      await this.#store(rest.subarray(0, PART_BYTES));
    this.#parts = [Buffer.from(rest)];
    this.#bytes = rest.length;
  }

  async end(bytes: Buffer): Promise<void> {
    await this.write(bytes);
    if (this.isArray) this.#add(Buffer.from(']'));
    const rest = Buffer.concat(this.#parts);
    if (rest.length > 0) await this.#store(rest);
  }

  close(): void {
    this.#parts = [];
  }

  #add(bytes: Buffer): void {
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
  }

  async #store(bytes: Buffer): Promise<void> {
    await this.store(this.position, bytes);
    this.position += bytes.length;
  }

  /** Lines as elements of an array. The end of the last line is a comma only if another line follows. */
  #elementsOf(lines: Buffer): Buffer {
    const isEnded = lines.at(-1) === LINE_FEED;
    const text = Buffer.from(isEnded ? lines.subarray(0, -1) : lines);
    for (let at = text.indexOf(LINE_FEED); at >= 0; at = text.indexOf(LINE_FEED, at + 1)) text[at] = COMMA;
    const before = this.#isOpen ? [Buffer.from([COMMA])] : [];
    this.#isOpen = isEnded;
    return Buffer.concat([...before, text]);
  }
}
