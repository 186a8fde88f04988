import type { Resource } from '../../collection/resource.js';
import { csvHeader, csvRow } from '../../formats/csv.js';
import { CSV_TYPE, JSON_TYPE } from '../../http/media-types.js';
import type { Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import { type JsonObject, member, setMember } from '../../json.js';
import { columnsOf } from './columns.js';
import { type PageInParts, readPageAs } from './inner-read.js';
import { ListView } from './list-query.js';
import { Names } from './names.js';
import { othersOf, type Site } from './site.js';

/** The parameter of a page for the file with all that its list selects: `csv` or `json`. */
export const EXPORT = '_export';

/** Records that are read at a time. */
const PART = 100;
/** Spreadsheets read a file as UTF-8 if it begins with this mark. */
const BYTE_ORDER_MARK = '\ufeff';

/**
 * A file with all records of a list, read part by part: JSON, or CSV for spreadsheets with the name of each record that is
 * referred to beside its id. Undefined: the page is no file.
 */
export function exportReply(resource: Resource, site: Site, request: Request): Reply | undefined {
  const given = request.query.parameters;
  const format = given.get(EXPORT);
  if (format !== 'csv' && format !== 'json') return undefined;
  const isCsv = format === 'csv';
  const chosen = given.get('fields')?.split(',');
  const columns = columnsOf(resource).filter(({ name }) => !chosen || chosen.includes(name));
  const names = isCsv
    ? columns.flatMap(({ name, kind }) => (kind === 'reference' ? [name, nameOf(name)] : [name]))
    : [];
  const header = ['id', ...names];
  const read = async function* (): AsyncGenerator<string> {
    for await (const record of recordsOf(resource, site, request, isCsv)) yield JSON.stringify(record);
  };
  return {
    status: 200,
    headers: [
      ...['Content-Type', isCsv ? `${CSV_TYPE}; charset=utf-8; header=present` : JSON_TYPE],
      ...[
        'Content-Disposition',
        `attachment; filename="${resource.name}.${format}"`,
        'Cache-Control',
        'no-store',
      ],
    ],
    content: {
      kind: 'documents',
      read,
      ...(isCsv
        ? {
            lines: {
              header: BYTE_ORDER_MARK + csvHeader(header),
              lineOf: (document: string) => csvRow(JSON.parse(document) as JsonObject, header),
            },
          }
        : { frame: ['', ''] as const }),
    },
  };
}

const nameOf = (field: string) => `${field} (name)`;

/** The records of a list, page by page, in time that grows with their number alone: each page goes on after the one before. */
async function* recordsOf(
  resource: Resource,
  site: Site,
  request: Request,
  hasNames: boolean,
): AsyncGenerator<JsonObject> {
  const { id } = request.params;
  const template = id === undefined ? `/${resource.name}` : `/${resource.parent!.to}/:id/${resource.name}`;
  const path = { template, ...(id !== undefined && { id }) };
  const view = new ListView(resource, '', request.query, othersOf(site));
  const query = new URLSearchParams(view.parameters);
  for (const name of ['page', 'order', 'count']) query.delete(name);
  query.set('sort', view.sortKeys().join(','));
  query.set('limit', String(PART));
  for (let after: string | undefined = ''; after !== undefined; ) {
    if (after !== '') query.set('after', after);
    const page: PageInParts = await readPageAs(site, request, path, query);
    for await (const records of page.parts) {
      const names = new Names(site, request);
      if (hasNames) await names.readFor(resource, records);
      for (const { _links, ...record } of records) yield hasNames ? named(resource, record, names) : record;
    }
    after = page.next;
  }
}

/** A record with the names of what it refers to. */
function named({ references }: Resource, record: JsonObject, names: Names): JsonObject {
  for (const { field } of references) {
    const value = member(record, field);
    const ids = Array.isArray(value) ? value : value === undefined ? [] : [value];
    setMember(record, nameOf(field), ids.map((each) => names.of(String(each)) ?? '').join(', '));
  }
  return record;
}
