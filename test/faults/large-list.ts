import { send } from '../support/service.js';

/** So many records have more bytes than all the buffers between the database and a client that reads nothing. */
export const RECORDS = 60;
const NOTE = 'x'.repeat(500_000);

/** Creates items of half a megabyte. */
export async function fill(url: string, records: number): Promise<void> {
  for (let n = 0; n < records; n++) {
    const { status, text } = await send(url, 'POST', '/items', { body: { name: `${n}`, note: NOTE } });
    if (status !== 201) throw new Error(`${status} ${text}`);
  }
}
