import { nearest } from '../errors/edit-distance.js';
import type { DeclaredField, DeclaredItems, DeclaredSchema } from './declaration.js';
import { type DeclaredReference, declaredReference } from './declared-reference.js';

type Fault = readonly [pointer: string, reason: string];

/** The most ids in an array of references. Each is checked when the record is written. */
const MAX_REFERENCES = 1000;

/** The faults of the references of a field. `collections`: the names of all. */
export function referenceFaults(
  name: string,
  field: DeclaredField,
  { required = [] }: DeclaredSchema,
  collections: readonly string[],
): Fault[] {
  const reference = declaredReference(field);
  if (reference === undefined) return [];
  const { to, id, at, isList } = reference;
  const faults: Fault[] = keywordsAgainstIds(id).map((keyword) => [
    `${at}/${keyword}`,
    'does not fit the ids of records',
  ]);
  if (!collections.includes(to))
    faults.unshift([
      `${at}/x-references`,
      `there is no collection ${to}: there are ${collections.join(', ')}${nearest(to, collections)}`,
    ]);
  if (isList) faults.push(...listFaults(field, reference));
  else if (field['x-on-delete'] === 'null' && required.includes(name))
    faults.push(['/x-on-delete', 'would leave the record without a required field: restrict or cascade']);
  return faults;
}

function listFaults(field: DeclaredField, { id, onDelete }: DeclaredReference): Fault[] {
  const { minItems = 0, maxItems } = field;
  const faults: Fault[] = [];
  if (id.type !== 'string') faults.push(['/items/type', 'must be "string": the items are ids of records']);
  if ('prefixItems' in field) faults.push(['/prefixItems', 'does not fit the ids of records']);
  if (maxItems === undefined || maxItems > MAX_REFERENCES)
    faults.push([
      maxItems === undefined ? '' : '/maxItems',
      `an array of references needs maxItems, at most ${MAX_REFERENCES}: each id is checked`,
    ]);
  if (onDelete === 'cascade')
    faults.push([
      '/items/x-on-delete',
      'would delete a record that names others as well: restrict, or remove, which removes the id',
    ]);
  if (onDelete === 'null')
    faults.push(['/items/x-on-delete', 'is for a field with one id: remove removes an id from an array']);
  if (onDelete === 'remove' && minItems > 0)
    faults.push(['/items/x-on-delete', 'would leave the record with fewer ids than minItems: restrict']);
  return faults;
}

const ID_LENGTH = 36;

/** The keywords of a reference that ids of records do not fit. */
function keywordsAgainstIds({
  format = 'uuid',
  minLength = 0,
  maxLength = ID_LENGTH,
}: DeclaredField | DeclaredItems): string[] {
  const isWrong = {
    format: format !== 'uuid',
    minLength: minLength > ID_LENGTH,
    maxLength: maxLength < ID_LENGTH,
  };
  return Object.entries(isWrong).flatMap(([keyword, wrong]) => (wrong ? [keyword] : []));
}
