import { fill, readStatements } from './db/queries.js';
import type { Resource } from './resource.js';

/** Every statement of the collection, `page` and `stream` once for each order: `page:name:asc`. */
export function compileStatements(resource: Resource, tombstones = false): ReadonlyMap<string, string> {
  const columns = Object.values(resource.columns);
  const parts = {
    table: resource.name,
    columns: columns.map((column) => `, ${column}`).join(''),
    values: columns.map((_, index) => `, $${index + 4}`).join(''),
    changes: columns.map((column, index) => `,\n    ${column} = $${index + 7}`).join(''),
    buried: tombstones ? '\nunion all select 0, null from tombstones where id = $1' : '',
  };
  const compiled = new Map<string, string>();
  for (const [name, template] of readStatements('collection.sql')) {
    const kind = /^(?:page|stream)(.*)$/.exec(name)?.[1];
    if (kind === undefined) compiled.set(name, fill(template, parts));
    else if (applies(kind, resource)) {
      for (const [key, order] of ordersOf(resource))
        compiled.set(`${name}:${key}`, fill(template, { ...parts, ...order }));
    }
  }
  return compiled;
}

function applies(kind: string, resource: Resource): boolean {
  if (kind === '_of_parent') return resource.parent !== undefined;
  return kind === '' || resource.searchable !== undefined;
}

/** `$.` in an order stands for the relation that holds the column at that place of the statement. */
function ordersOf(resource: Resource): [key: string, parts: Record<string, string>][] {
  const parts = {
    search: `lower(${resource.columns[resource.searchable ?? '']})`,
    parent: resource.columns[resource.parent?.field ?? ''] ?? '',
  };
  return ['created_at', ...Object.keys(resource.sortable)].flatMap((sort) =>
    (['asc', 'desc'] as const).map((direction): [string, Record<string, string>] => {
      const expression = resource.sortable[sort]?.[direction];
      const order = expression === undefined ? `$.id ${direction}` : `${expression}, $.id ${direction}`;
      const orders = {
        keys: expression === undefined ? '' : `, ${resource.columns[sort]}`,
        order: order.replaceAll('$.', ''),
        record_order: order.replaceAll('$.', 'record.'),
        match_order: order.replaceAll('$.', 'match.'),
      };
      return [`${sort}:${direction}`, { ...parts, ...orders }];
    }),
  );
}
