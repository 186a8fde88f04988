import type { Reference } from '../collection/resource.js';
import type { DeclaredField, DeclaredItems } from './declaration.js';

/** The keywords of a field about the records to which it refers. */
export interface DeclaredReference {
  readonly to: string;
  readonly onDelete: Reference['onDelete'];
  /** Whether the field is an array of ids. */
  readonly isList: boolean;
  /** The schema of one id, and the pointer to it in the field. */
  readonly id: DeclaredField | DeclaredItems;
  readonly at: '' | '/items';
}

/** The records to which a field refers: those of its id, or of the ids in its array. Undefined: it refers to none. */
export function declaredReference(field: DeclaredField): DeclaredReference | undefined {
  const isList = field['x-references'] === undefined;
  const id = isList ? itemsOf(field) : field;
  const { 'x-references': to, 'x-on-delete': onDelete = 'restrict' } = id;
  return to === undefined ? undefined : { to, onDelete, isList, id, at: isList ? '/items' : '' };
}

/** The schema of the items of a field. */
export const itemsOf = ({ items }: DeclaredField): DeclaredItems =>
  typeof items === 'object' && items !== null ? items : {};
