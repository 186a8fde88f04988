import { cursorOf } from './cursor.js';
import type { Event } from './event.js';

/**
 * An event as a CloudEvents 1.0 envelope, JSON on one line; the document goes in as it is stored. `previous` is the
 * version that was changed or deleted, `sequence` the cursor (extensions of ours, and of CloudEvents).
 * `source` is how the service is reached from outside, or `/`.
 */
export function envelopeOf({ seq, type, record, time, version, data }: Event, source: string): string {
  const cursor = cursorOf(seq);
  // With the time, since a database that was restored gives its numbers again. No column: to draw a UUID took a
  // quarter of what an event costs.
  const id = `${cursor}-${time.replace(/\D/g, '')}`;
  const collection = type.slice(0, type.indexOf('.'));
  const previous = data === null ? version : version - 1;
  return `{"specversion":"1.0","id":"${id}","source":"${source}","type":"${type}","subject":"/${collection}/${record}","time":"${time}","sequence":"${cursor}"${
    previous > 0 ? `,"previous":${previous}` : ''
  }${data === null ? '' : `,"datacontenttype":"application/json","data":${data}`}}`;
}

/** An event as a message of an event stream (HTML, section 9.2.6): its id is the cursor. */
export function messageOf(event: Event, source: string): string {
  return `id: ${cursorOf(event.seq)}\nevent: ${event.type}\ndata: ${envelopeOf(event, source)}\n\n`;
}
