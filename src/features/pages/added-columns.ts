import { hrefOf } from '../../collection/representation.js';
import { cut, type Html, html, type Part } from '../../formats/html.js';
import { isObject, type Json, type JsonObject, member } from '../../json.js';
import type { Include, View } from '../../list/read-fields-and-includes.js';
import { excerptsOf, MAX_CELL_CHARACTERS } from './list-cells.js';
import type { Names } from './names.js';

/** A column of a list that shows more of a record than its fields, or a field in another way. */
export interface AddedColumn {
  readonly name: string;
  /** The cell of a record; undefined: the value of the field with the name of the column. */
  readonly cell: (record: JsonObject) => Part;
}

/** The columns of what a request asks for besides fields: related records, and excerpts of the fields in which words are found. */
export function addedColumns(
  { include, excerpts }: View,
  records: readonly JsonObject[],
  names: Names,
): AddedColumn[] {
  const found = excerpts ? new Set(records.flatMap((record) => Object.keys(excerptsOf(record)))) : [];
  return [...[...found].map(excerptColumn), ...include.map((each) => relatedColumn(each, names))];
}

const excerptColumn = (name: string): AddedColumn => ({
  name,
  cell: (record) => {
    const text = member(excerptsOf(record), name);
    return typeof text === 'string' ? marked(text) : undefined;
  },
});

/** Links to the related records of each record, or their number. */
function relatedColumn({ name, relation, isCount }: Include, names: Names): AddedColumn {
  const { resource } = names.site.collections.find((each) => each.resource.name === relation.collection)!;
  const link = (related: Json): Part =>
    isObject(related) &&
    html`<a href="${hrefOf(resource, String(related.id))}">${cut(names.titleOf(resource, related), MAX_CELL_CHARACTERS)}</a>`;
  return {
    name,
    cell: (record) => {
      const included = isObject(record._included) ? member(record._included, name) : undefined;
      if (isCount) return typeof included === 'number' && included;
      const records = Array.isArray(included) ? included : included === undefined ? [] : [included];
      return records.map((each, index) => [index > 0 && ', ', link(each)]);
    },
  };
}

const REFERENCES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

/** An excerpt, of which each word that is found is marked. Any other tag in it is text. */
function marked(excerpt: string): Html {
  const textOf = (part: string) => part.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (each) => REFERENCES[each]!);
  const parts = excerpt.split(/<mark>([^<]*)<\/mark>/).map(textOf);
  return html`${parts.map((part, index) => (index % 2 === 1 ? html`<mark>${part}</mark>` : part))}`;
}
