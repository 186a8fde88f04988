import { type Resource, referredIds } from '../../collection/resource.js';
import { csvHeader, csvRow } from '../../formats/csv.js';
import { CSV_TYPE, JSON_TYPE, NDJSON_TYPE } from '../../http/media-types.js';
import { Query } from '../../http/query-parameters.js';
import type { Lines, Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import type { Action } from '../../http/router.js';
import { type JsonObject, setMember } from '../../json.js';
import { ofDocument } from '../../limits/turn.js';
import { columnsOf } from './columns.js';
import { listQueryOf } from './list-query.js';
import { Names } from './names.js';
import type { Site } from './site.js';

/** The parameter of a page for the file with all that its list selects: `csv` or `json`. */
export const EXPORT = '_export';

/** Records, and characters of their documents, whose names are read together. */
const PART = 100;
const PART_CHARACTERS = 1_048_576;
/** Spreadsheets read a file as UTF-8 if it begins with this mark. */
const BYTE_ORDER_MARK = '\ufeff';
/** The parameters of a page that a whole list does not have. */
const OF_PAGES = ['page', 'limit', 'count', 'include', 'excerpts', 'group', 'aggregate'];

/**
 * A file with all records of a list, streamed as the list in lines is: JSON, or CSV for spreadsheets with the name of each record
 * that is referred to beside its id. Undefined: the page is no file.
 */
export function exportReply(
  resource: Resource,
  site: Site,
  request: Request,
  list: Action,
): Promise<Reply> | undefined {
  const given = request.query.parameters;
  const format = given.get(EXPORT);
  if (format !== 'csv' && format !== 'json') return undefined;
  const query = new URLSearchParams(listQueryOf(request.query));
  const chosen = query.get('fields')?.split(',');
  for (const name of OF_PAGES) query.delete(name);
  const disposition = `attachment; filename="${resource.name}.${format}"`;
  const isCsv = format === 'csv';
  return (async () => {
    const { host } = request.headers;
    const headers = host === undefined ? {} : { host };
    const reply = await list.run({
      ...{ ...request, headers, type: NDJSON_TYPE, query: new Query(String(query)) },
    });
    const { content } = reply;
    if (content?.kind !== 'rows') return reply;
    const lines = isCsv
      ? spreadsheetLines(resource, chosen, new Names(site, request))
      : arrayLines(content.lines!);
    return {
      status: 200,
      headers: [
        ...['Content-Type', isCsv ? `${CSV_TYPE}; charset=utf-8; header=present` : JSON_TYPE],
        ...['Content-Disposition', disposition, 'Cache-Control', 'no-store'],
      ],
      content: { ...content, lines },
    };
  })();
}

/** The documents of a list as one array, with a line for each. */
function arrayLines({ lineOf = (document) => document }: Lines): Lines {
  let separator = '[';
  return {
    header: '',
    lineOf: async (document) => {
      const line = separator + (await lineOf(document)).trimEnd();
      separator = ',\n';
      return line;
    },
    footer: () => (separator === '[' ? '[]' : ']'),
  };
}

const nameOf = (field: string) => `${field} (name)`;

/** The rows of a spreadsheet. Records wait for each other, so that the names of many are read by one request. */
function spreadsheetLines(resource: Resource, chosen: readonly string[] | undefined, names: Names): Lines {
  const columns = columnsOf(resource).filter(({ name }) => !chosen || chosen.includes(name));
  const header = [
    'id',
    ...columns.flatMap(({ name, kind }) => (kind === 'reference' ? [name, nameOf(name)] : [name])),
  ];
  let waiting: JsonObject[] = [];
  let characters = 0;
  const flush = async (): Promise<string> => {
    const records = waiting;
    [waiting, characters] = [[], 0];
    names.clear();
    await names.readFor(resource, records, Number.POSITIVE_INFINITY);
    return records.map((record) => csvRow(named(resource, record, names), header)).join('');
  };
  return {
    header: BYTE_ORDER_MARK + csvHeader(header),
    lineOf: async (document) => {
      waiting.push(await ofDocument(document, (record) => record));
      characters += document.length;
      return waiting.length === PART || characters > PART_CHARACTERS ? flush() : '';
    },
    footer: flush,
  };
}

/** A record with the names of what it refers to. */
function named({ references }: Resource, record: JsonObject, names: Names): JsonObject {
  for (const reference of references) {
    const found = referredIds(record, reference).map(({ id }) => names.of(id) ?? '');
    setMember(record, nameOf(reference.field), found.join(', '));
  }
  return record;
}
