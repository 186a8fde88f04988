import { isObject } from '../json.js';
import { below } from './schema-parts.js';
import {
  type Bound,
  bounds,
  contradiction,
  crossed,
  highest,
  type Impossible,
  lowest,
  type Parts,
  type Search,
} from './value-bounds.js';

/** Why no array has these parts. */
export function impossibleItems(parts: Parts, values: Search): Impossible | undefined {
  const hasTuples = parts.some(({ schema }) => 'prefixItems' in schema);
  const contained = parts.flatMap((node): Bound[] => {
    if (node.schema.contains === undefined) return [];
    const least = typeof node.schema.minContains === 'number' ? node.schema.minContains : 1;
    return [{ value: least, node, keyword: 'minContains' in node.schema ? 'minContains' : 'contains' }];
  });
  const most = highest([
    ...bounds(parts, 'maxItems'),
    ...tupleLengths(parts),
    ...(hasTuples ? [] : distinct(parts)),
  ]);
  const pairs = [
    crossed(lowest(bounds(parts, 'minItems')), most, 'items'),
    crossed(lowest(contained), most, 'items'),
    ...parts.map((part) =>
      crossed(bounds([part], 'minContains')[0], bounds([part], 'maxContains')[0], 'items'),
    ),
  ];
  const found = pairs.find((each) => each !== undefined);
  if (found || hasTuples) return found;
  const items = below(parts, ['items'], values.files);
  const least = lowest(bounds(parts, 'minItems'));
  if (least && least.value > 0 && items.length > 0) {
    const cause = values.of(items);
    if (cause)
      return cause.kind === 'contradiction'
        ? cause
        : contradiction(least, 'needs items, which no array may have: no value is valid');
  }
  for (const at of contained) {
    if (at.value === 0) continue;
    const cause = values.of([...items, ...below([at.node], ['contains'], values.files)]);
    if (cause) return contradiction({ ...at, keyword: 'contains' }, 'no item can obey it: no value is valid');
  }
  return undefined;
}

/** The lengths of arrays whose items beyond a tuple are forbidden. */
const tupleLengths = (parts: Parts): Bound[] =>
  parts
    .filter(({ schema }) => schema.items === false)
    .map((node) => {
      const { prefixItems } = node.schema;
      const value = Array.isArray(prefixItems) ? prefixItems.length : 0;
      return { value, node, keyword: 'items', words: 'items: false' };
    });

/** How many different items an array of unique ones can have. */
const distinct = (parts: Parts): Bound[] =>
  parts.some(({ schema }) => schema.uniqueItems === true)
    ? parts.flatMap((node): Bound[] => {
        const { items } = node.schema;
        if (!isObject(items)) return [];
        const value = Array.isArray(items.enum)
          ? items.enum.length
          : items.type === 'boolean'
            ? 2
            : undefined;
        return value === undefined ? [] : [{ value, node, keyword: 'uniqueItems', words: 'uniqueItems' }];
      })
    : [];
