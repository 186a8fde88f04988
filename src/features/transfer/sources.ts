import type { Position } from './chunks.js';
import { type CsvHeader, headerOf } from './csv-header.js';
import { FileError, type Input } from './input.js';
import { findArrays } from './json-arrays.js';
import { csvScanner, ELEMENTS, NDJSON, type Scanner } from './scan.js';

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
