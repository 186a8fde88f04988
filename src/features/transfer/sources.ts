import { InputError } from '../../cli/io.js';
import { isObject, type Json } from '../../json.js';
import type { Position } from './chunks.js';
import { type CsvHeader, headerOf } from './csv-header.js';
import type { Input } from './input.js';
import { csvScanner, ELEMENTS, NDJSON, type Scanner } from './scan.js';

/** The records of one collection in a file. */
export interface Source {
  readonly collection: string;
  readonly input: Input;
  readonly scanner: Scanner;
  /** Where the records begin. */
  readonly from: Position;
  /** The columns of CSV. */
  readonly header?: CsvHeader;
  /** A record's place as the user sees it. */
  readonly placeText: (place: number) => string;
}

export interface SourceOptions {
  /** The collection of all records of the file. */
  readonly as?: string | undefined;
  readonly onOther?: ((name: string) => void) | undefined;
  /** The collection of records that the file does not name; absent: it is an error. */
  readonly fallback?: string | undefined;
}

/**
 * The records of a file by collection. Throws InputError, also for a member that is no array, unless `onOther` is there to be
 * called with its name.
 */
export async function sourcesOf(input: Input, options: SourceOptions = {}): Promise<Source[]> {
  if (input.format === 'json') return jsonSources(input, options);
  const collection = options.as ?? options.fallback;
  if (collection === undefined)
    throw new InputError(`${input.name} holds records of one collection: is its name missing?`);
  const placeText = (line: number) => `${input.name}:${line}`;
  if (input.format === 'ndjson')
    return [{ collection, input, scanner: NDJSON, from: { position: input.start, place: 1 }, placeText }];
  const header = headerOf(input);
  const { from } = header;
  return [{ collection, input, scanner: csvScanner(header.delimiter), from, header, placeText }];
}

async function jsonSources(input: Input, { as: given, fallback, onOther }: SourceOptions): Promise<Source[]> {
  const members = await findMembers(input);
  const arrays = [...members].flatMap(([name, start]) => (start === undefined ? [] : [{ name, start }]));
  const source = (collection: string, start: number): Source => ({
    collection,
    input,
    scanner: ELEMENTS,
    from: { position: start, place: 0 },
    placeText: (index) => `${collection}[${index}]`,
  });
  const isList = members.has(undefined);
  const as = given ?? (isList ? fallback : undefined);
  if (as !== undefined) {
    if (arrays.length !== 1) throw new InputError(`${input.name} does not hold one array of records`);
    return [source(as, arrays[0]!.start)];
  }
  if (isList || members.size === 0)
    throw new InputError(`${input.name} holds no {"collection": [records]}: is --as missing?`);
  for (const [name, start] of members) {
    if (start !== undefined) continue;
    if (!onOther) throw new InputError(`${input.name}: ${name} is not an array of records`);
    onOther(name!);
  }
  return arrays.toSorted((a, b) => a.start - b.start).map(({ name, start }) => source(name!, start));
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Bytes of a JSON file beside its arrays and objects. */
const MAX_OUTLINE_BYTES = 1_048_576;

/**
 * The members of a file's object, without reading their records: the offset after the bracket that opens an array, or undefined for
 * another value. A file that is an array has no name. Throws InputError for what is not JSON as a whole.
 */
async function findMembers(input: Input): Promise<ReadonlyMap<string | undefined, number | undefined>> {
  const { text, count } = await outlineOf(input);
  let top: Json | undefined;
  try {
    top = JSON.parse(text) as Json;
  } catch {
    // Refused below, as other values.
  }
  const startOf = (value: Json) => (Array.isArray(value) ? (value[0] as number) : undefined);
  if (Array.isArray(top)) return new Map([[undefined, startOf(top)]]);
  if (!isObject(top)) throw new InputError(`${input.name}: The file is not valid JSON.`);
  const members = new Map(Object.entries(top).map(([name, value]) => [name, startOf(value)]));
  if ([...members.values()].filter((start) => start !== undefined).length < count)
    throw new InputError(`${input.name} has an array more than once`);
  return members;
}

/** The JSON of a file in which arrays have the offset of their content instead of it, and objects nothing; and how many arrays. */
async function outlineOf(input: Input): Promise<{ readonly text: string; readonly count: number }> {
  let [outline, count, depth, offset] = ['', 0, 0, input.start];
  let [isString, isEscaped] = [false, false];
  /** The depth of the names: 0 if the file is an array. */
  let top = 1;
  for await (const bytes of input.read(input.start)) {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      const before = depth;
      if (isString) {
        isString = byte !== QUOTE || isEscaped;
        isEscaped = byte === BACKSLASH && !isEscaped;
      } else if (byte === QUOTE) isString = true;
      else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) depth++;
      else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth--;
      const isArray = depth > before && byte === OPEN_ARRAY;
      if (isArray && before === 0) top = 0;
      if (Math.min(before, depth) <= top) outline += String.fromCharCode(byte);
      if (!isArray || before !== top) continue;
      count++;
      outline += offset + at + 1;
    }
    offset += bytes.length;
    if (outline.length > MAX_OUTLINE_BYTES)
      throw new InputError(`${input.name} has more than ${MAX_OUTLINE_BYTES} bytes beside its arrays`);
  }
  return { text: Buffer.from(outline, 'latin1').toString('utf8'), count };
}
