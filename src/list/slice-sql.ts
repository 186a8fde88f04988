import { MAX_PAGE_BYTES } from '../collection/document.js';
import type { Resource } from '../collection/resource.js';
import type { Engine } from '../database-url/engine.js';
import type { Parameter } from './comparison-sql.js';
import { accessibleSql, recordsSql } from './condition-sql.js';
import { MAX_LARGE_RECORDS, type SliceRequest } from './list-request.js';
import { documentsOf } from './order-parts.js';

/** The parts of the statement of a slice. */
export function sliceParts(
  resource: Resource,
  { selection, order, start, end }: SliceRequest,
  engine: Engine,
  parameter: Parameter,
) {
  const bound = (place: number) => {
    const value = parameter(String(place), 'bigint');
    return place < 0 ? `greatest((select total from total) + ${value}, 0)` : value;
  };
  return {
    records: recordsSql(resource, selection, parameter, engine),
    source: accessibleSql(resource, 'record', selection.access, parameter, engine),
    order: [...order.map((key) => key('record', parameter)), 'record.id'].join(', '),
    start: bound(start),
    rows: end === undefined ? 'null' : `greatest(${bound(end)} - ${bound(start)}, 0)`,
    documents: documentsOf('page.place', {
      id: `case when page.place <= ${MAX_LARGE_RECORDS + 1} then record.id::text end`,
      maxBytes: MAX_PAGE_BYTES,
    }),
  };
}
