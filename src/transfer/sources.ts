import { csvCells } from './csv-record.js';
import type { Source } from './import-collection.js';
import { FileError, type Input } from './input.js';
import { findArrays } from './json-arrays.js';
import { CSV, ELEMENTS, NDJSON } from './scan.js';

/**
 * The records of a file by collection; `as` names the one collection of its records. Throws FileError, also for a member
 * that is no array, unless `onOther` is there to be called with its name.
 */
export async function sourcesOf(
  input: Input,
  as: string | undefined,
  onOther?: (name: string) => void,
): Promise<Source[]> {
  if (input.format === 'json') return jsonSources(input, as, onOther);
  if (as === undefined)
    throw new FileError(`${input.name} holds records of one collection: is its name missing?`);
  const placeText = (line: number) => `${input.name}:${line}`;
  if (input.format === 'ndjson')
    return [{ collection: as, input, scanner: NDJSON, from: { position: input.start, place: 1 }, placeText }];
  const { header, from } = headerOf(input);
  return [{ collection: as, input, scanner: CSV, from, header, placeText }];
}

async function jsonSources(
  input: Input,
  as: string | undefined,
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

/** The names of the columns of CSV, and where its rows begin. Throws FileError. */
export function headerOf({ name, head, start }: Input): {
  header: string[];
  from: { position: number; place: number };
} {
  const found = { starts: [], ends: [], places: [] };
  const { next } = CSV.scan(head.subarray(0, endOfRow(head)), start, 1, true, found);
  if (found.starts.length === 0) throw new FileError(`${name} has no header`);
  const header = csvCells(head.toString('utf8', found.starts[0], found.ends[0]));
  const repeated = header.find((each, at) => header.indexOf(each) !== at);
  if (repeated !== undefined)
    throw new FileError(`${name}: the header has ${repeated || '""'} more than once`);
  return { header, from: { position: next, place: 1 + linesOf(head.subarray(0, next)) } };
}

function endOfRow(bytes: Buffer): number {
  let isQuoted = false;
  for (const [at, byte] of bytes.entries()) {
    if (byte === 0x22) isQuoted = !isQuoted;
    else if (byte === 0x0a && !isQuoted) return at + 1;
  }
  return bytes.length;
}

const linesOf = (bytes: Buffer) => bytes.filter((byte) => byte === 0x0a).length;
