import type { Position } from './chunks.js';
import type { CsvHeader } from './csv-header.js';
import type { Input } from './input.js';
import type { Scanner } from './scan.js';

/** The records of one collection in a file. */
export interface Source {
  readonly collection: string;
  readonly input: Pick<Input, 'name' | 'read' | 'size'>;
  readonly scanner: Scanner;
  /** Where the records begin. */
  readonly from: Position;
  /** The columns of CSV. */
  readonly header?: CsvHeader;
  /** A record's place as the user sees it. */
  readonly placeText: (place: number) => string;
}
