import { type Resource, referredIds } from '../../collection/resource.js';
import { csvHeader, csvRow } from '../../formats/csv.js';
import { CSV_TYPE, JSON_TYPE, NDJSON_TYPE } from '../../http/media-types.js';
import { Query } from '../../http/query-parameters.js';
import type { Lines, Reply } from '../../http/reply.js';
import type { Action } from '../../http/router.js';
import { type JsonObject, member } from '../../json.js';
import { ofDocument } from '../../limits/turn.js';
import { type Column, listColumns, titleLabel } from './columns.js';
import { hostOf } from './inner-read.js';
import type { PageContext } from './layout.js';
import { ListView } from './list-query.js';
import { Names } from './names.js';

/** The parameter of a page for the file with all that its list selects: `csv` or `json`. */
export const EXPORT = '_export';

/** Records, and characters of their documents and so of their ids, whose names are read together. */
const PART = 100;
const PART_CHARACTERS = 65_536;
/** Spreadsheets read a file as UTF-8 if it begins with this mark. */
const BYTE_ORDER_MARK = '\ufeff';

type Context = Pick<PageContext, 'site' | 'request'>;

/**
 * A file with all records of a list, streamed as the list in lines is: JSON with all fields, or CSV for spreadsheets with the columns
 * of the page. Undefined: the page is no file.
 */
export async function exportReply(
  resource: Resource,
  { site, request }: Context,
  list: Action,
): Promise<Reply | undefined> {
  const format = request.query.parameters.get(EXPORT);
  if (format !== 'csv' && format !== 'json') return undefined;
  const { parameters, selection, chosen } = new ListView(resource, site, request);
  const order = [...parameters].filter(([name]) => name === 'sort' || name === 'order');
  const query = new Query(String(new URLSearchParams([...selection, ...order])));
  const headers = hostOf(request.headers);
  const reply = await list.run({ ...request, headers, type: NDJSON_TYPE, query });
  const { content } = reply;
  if (content?.kind !== 'rows') return reply;
  const { lines: _, ...rows } = content;
  const isCsv = format === 'csv';
  const columns = listColumns(resource, chosen, []).filter(({ name }) => name !== 'id');
  return {
    status: 200,
    headers: [
      ...['Content-Type', isCsv ? `${CSV_TYPE}; charset=utf-8; header=present` : JSON_TYPE],
      ...['Content-Disposition', `attachment; filename="${resource.name}.${format}"`],
      ...['Cache-Control', 'no-store'],
    ],
    content: isCsv ? { ...rows, lines: spreadsheetLines(resource, columns, { site, request }) } : rows,
  };
}

/**
 * The rows of a spreadsheet, which have the name of a reference beside its id. Records wait for each other, so that the names of many
 * are read by one request.
 */
function spreadsheetLines(resource: Resource, columns: readonly Column[], { site, request }: Context): Lines {
  const labels = columns.flatMap(({ kind, label }) =>
    kind === 'reference' ? [label, `${label} id`] : [label],
  );
  const heads = [titleLabel(resource), ...labels, 'Id'];
  const rowOf = (record: JsonObject, names: Names) => [
    names.titleOf(resource, record, Number.POSITIVE_INFINITY),
    ...columns.flatMap(({ name, kind, isList }) => {
      const value = member(record, name);
      if (kind !== 'reference') return [value];
      const ids = referredIds(record, { field: name, isList });
      return [ids.map(({ id }) => names.of(id) ?? '').join(', '), value];
    }),
    record.id,
  ];
  let waiting: JsonObject[] = [];
  let characters = 0;
  const flush = async (): Promise<string> => {
    const records = waiting;
    [waiting, characters] = [[], 0];
    const names = new Names(site, request);
    await names.readFor(resource, records, Number.POSITIVE_INFINITY);
    const row = (record: JsonObject) => ({ ...rowOf(record, names) }) as unknown as JsonObject;
    return records.map((record) => csvRow(row(record), Object.keys(heads))).join('');
  };
  return {
    header: BYTE_ORDER_MARK + csvHeader(heads),
    lineOf: async (document) => {
      waiting.push(await ofDocument(document, (record) => record));
      characters += document.length;
      return waiting.length === PART || characters > PART_CHARACTERS ? flush() : '';
    },
    footer: flush,
  };
}
