import type { Position } from './chunks.js';
import { type CsvHeader, headerOf } from './csv-header.js';
import { FileError, type Input } from './input.js';
import { csvScanner, ELEMENTS, isSpace, NDJSON, type Scanner } from './scan.js';

/** The records of one collection in a file. */
export interface Source {
  readonly collection: string;
  readonly input: Pick<Input, 'name' | 'read' | 'size' | 'close'>;
  readonly scanner: Scanner;
  /** Where the records begin. */
  readonly from: Position;
  /** The columns of CSV. */
  readonly header?: CsvHeader;
  /** A record's place as the user sees it. */
  readonly placeText: (place: number) => string;
}

export interface SourceOptions {
  /** Of CSV; absent: the one that its header uses. */
  readonly delimiter?: number | undefined;
  readonly onOther?: ((name: string) => void) | undefined;
  /** The collection of records that the file does not name; absent: it is an error. */
  readonly fallback?: string | undefined;
}

/**
 * The records of a file by collection; `as` names the one collection of its records. Throws FileError, also for a member
 * that is no array, unless `onOther` is there to be called with its name.
 */
export async function sourcesOf(
  input: Input,
  as: string | undefined,
  { delimiter, onOther, fallback }: SourceOptions = {},
): Promise<Source[]> {
  if (input.format === 'json') return jsonSources(input, as, fallback, onOther);
  const collection = as ?? fallback;
  if (collection === undefined)
    throw new FileError(`${input.name} holds records of one collection: is its name missing?`);
  const placeText = (line: number) => `${input.name}:${line}`;
  if (input.format === 'ndjson')
    return [{ collection, input, scanner: NDJSON, from: { position: input.start, place: 1 }, placeText }];
  const header = headerOf(input, delimiter);
  const { from } = header;
  return [{ collection, input, scanner: csvScanner(header.delimiter), from, header, placeText }];
}

async function jsonSources(
  input: Input,
  given: string | undefined,
  fallback: string | undefined,
  onOther: (name: string) => void = (name) => {
    throw new FileError(`${input.name}: ${name} is not an array of records`);
  },
): Promise<Source[]> {
  const { arrays, others } = await findArrays(input);
  const source = (collection: string, start: number): Source => ({
    collection,
    input,
    scanner: ELEMENTS,
    from: { position: start, place: 0 },
    placeText: (index) => `${collection}[${index}]`,
  });
  const isList = arrays.length === 1 && arrays[0]!.name === undefined;
  const as = given ?? (isList ? fallback : undefined);
  if (as !== undefined) {
    const [array, ...more] = arrays;
    if (!array || more.length > 0) throw new FileError(`${input.name} does not hold one array of records`);
    return [source(as, array.start)];
  }
  if (arrays.some(({ name }) => name === undefined) || (arrays.length === 0 && others.length === 0))
    throw new FileError(`${input.name} holds no {"collection": [records]}: is --as missing?`);
  for (const name of others) onOther(name);
  return arrays.map(({ name, start }) => source(name!, start));
}

/** An array of records in a JSON file. */
interface JsonArray {
  /** The name of the array in the file's object; undefined: the file is the array. */
  readonly name: string | undefined;
  /** The offset after its opening bracket. */
  readonly start: number;
}

/** The members of a JSON file's top level. */
interface JsonArrays {
  readonly arrays: readonly JsonArray[];
  /** Names of members that are not arrays. */
  readonly others: readonly string[];
}

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const MAX_NAME_BYTES = 1000;

/** Finds the arrays of a file without reading their records. Throws FileError for what is not JSON as a whole. */
async function findArrays(input: Input): Promise<JsonArrays> {
  const scan = new ArrayScan(input.start);
  for await (const bytes of input.read(input.start)) scan.add(bytes);
  if (!scan.isComplete) throw new FileError(`${input.name}: The file is not valid JSON.`);
  const names = scan.arrays.map(({ name }) => name);
  const repeated = names.find((name, at) => names.indexOf(name) !== at);
  if (repeated !== undefined) throw new FileError(`${input.name} has ${repeated} more than once`);
  return scan;
}

/** Follows the nesting of a JSON text, part after part. */
class ArrayScan implements JsonArrays {
  readonly arrays: JsonArray[] = [];
  readonly others: string[] = [];
  /** The brackets that are open. */
  readonly #open: number[] = [];
  #isInString = false;
  #isEscaped = false;
  #isBroken = false;
  #hasEnded = false;
  /** The bytes of the string at depth 1, with its quotation marks. */
  #name: number[] = [];
  /** Whether the value of `#name` is expected next. */
  #awaitsValue = false;

  constructor(private offset: number) {}

  get isComplete(): boolean {
    return this.#hasEnded && !this.#isBroken;
  }

  add(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (this.#isInString) this.#inString(byte);
      else if (!isSpace(byte)) this.#token(byte, this.offset + at);
    }
    this.offset += bytes.length;
  }

  #inString(byte: number): void {
    if (this.#open.length === 1 && !this.#awaitsValue && this.#name.length < MAX_NAME_BYTES)
      this.#name.push(byte);
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) {
      this.#isInString = false;
      this.#awaitsValue = false;
    }
  }

  #token(byte: number, offset: number): void {
    const depth = this.#open.length;
    const isTop = depth === 0;
    if (this.#hasEnded || (isTop && byte !== OPEN_ARRAY && byte !== OPEN_OBJECT)) this.#isBroken = true;
    if (depth === 1 && this.#awaitsValue && byte !== OPEN_ARRAY) this.#addOther();
    if (byte === QUOTE) {
      if (depth === 1 && !this.#awaitsValue) this.#name = [QUOTE];
      this.#isInString = true;
    } else if (byte === COLON && depth === 1) this.#awaitsValue = true;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      const isMember = depth === 1 && this.#open[0] === OPEN_OBJECT;
      if (byte === OPEN_ARRAY && (isTop || isMember))
        this.arrays.push({ name: isTop ? undefined : this.#readName(), start: offset + 1 });
      this.#awaitsValue = false;
      this.#open.push(byte);
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      if (this.#open.pop() !== (byte === CLOSE_ARRAY ? OPEN_ARRAY : OPEN_OBJECT)) this.#isBroken = true;
      this.#hasEnded = this.#open.length === 0;
    }
  }

  #addOther(): void {
    if (this.#open[0] === OPEN_OBJECT) this.others.push(this.#readName());
    // The rest of a scalar belongs to no value.
    this.#awaitsValue = false;
  }

  #readName(): string {
    try {
      return JSON.parse(Buffer.from(this.#name).toString('utf8')) as string;
    } catch {
      this.#isBroken = true;
      return '';
    }
  }
}
