import { pause } from '../support/pause.js';
import { send } from '../support/service.js';

/** A change whose response was 2xx; `version` of a deleted record is its last one. */
export interface ConfirmedWrite {
  readonly type: string;
  readonly record: string;
  readonly version: number;
}

/** The name of records that a batch makes, and rolls back. */
export const ROLLED_BACK = 'rolled back';

/**
 * Writes on and on until it fails or `isOver`: creates, patches and deletes, each with a 2xx response goes to `confirmed`; and
 * batches that fail after they have written. It pauses for `paceMs` after each record.
 */
export async function write(
  url: string,
  confirmed: ConfirmedWrite[],
  isOver: () => boolean = () => false,
  paceMs = 0,
): Promise<void> {
  for (let count = 0; !isOver(); count++) {
    const { status, json } = await send(url, 'POST', '/items', { body: { name: `item ${count}` } });
    if (status !== 201) return;
    confirmed.push({ type: 'items.created', record: json.id, version: 1 });
    const path = `/items/${json.id}`;
    if ((await send(url, 'PATCH', path, { body: { price: count } })).status !== 200) return;
    confirmed.push({ type: 'items.updated', record: json.id, version: 2 });
    if (count % 3 === 0) {
      if ((await send(url, 'DELETE', path)).status !== 204) return;
      confirmed.push({ type: 'items.deleted', record: json.id, version: 2 });
    } else if (count % 3 === 1) {
      const operations = [
        { method: 'POST', path: '/items', body: { name: ROLLED_BACK } },
        { method: 'PATCH', path, body: { name: ROLLED_BACK } },
        { method: 'DELETE', path, headers: { 'If-Match': '"1"' } },
      ];
      const failed = await send(url, 'POST', '/batch', { body: { operations } });
      if (failed.status < 400)
        throw new Error(`a batch that cannot be done: ${failed.status} ${failed.text}`);
      if (failed.status >= 500) return;
    }
    if (paceMs > 0) await pause(paceMs);
  }
}
