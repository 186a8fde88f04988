import { positionText } from './cursor.js';
import type { Event } from './event.js';

/** The settings that the envelope of an event depends on. */
export interface FeedContext {
  /** The service's public URL, or `/`. */
  readonly source: string;
  /** Precedes the paths of records: PUBLIC_PREFIX. */
  readonly prefix: string;
  /** The cursor of a position. */
  readonly cursorOf: (position: number) => string;
}

/** An event's id, which is the same for every reader. It contains the time, since a restored database reuses numbers. */
export function idOf({ seq, time }: Event): string {
  return `${positionText(seq)}-${time.replace(/\D/g, '')}`;
}

/** The path of the record that changed, without PUBLIC_PREFIX. */
export function pathOfRecord({ type, record }: Event): string {
  return `/${type.slice(0, type.indexOf('.'))}/${record}`;
}

/**
 * An event as a CloudEvents 1.0 envelope: JSON on one line, with the document as it is stored. `previous` is the version
 * that was changed or deleted, `sequence` the cursor, `actor` the caller, `match` the meaning for the reader's conditions
 * (extension attributes).
 */
export function envelopeOf(event: Event, { source, prefix, cursorOf }: FeedContext): string {
  const { seq, type, time, version, actor, data, match } = event;
  const previous = type.endsWith('.deleted') ? version : version - 1;
  const optional = [
    previous > 0 && `,"previous":${previous}`,
    actor !== null && `,"actor":${JSON.stringify(actor)}`,
    match && `,"match":"${match}"`,
    data !== null && `,"datacontenttype":"application/json","data":${data}`,
  ];
  return `{"specversion":"1.0","id":"${idOf(event)}","source":"${source}","type":"${type}","subject":"${prefix}${pathOfRecord(event)}","time":"${time}","sequence":"${cursorOf(seq)}"${optional.filter(Boolean).join('')}}`;
}

/** An event as a message of an event stream (HTML, section 9.2.6). Its id is the cursor. */
export function messageOf(event: Event, context: FeedContext): string {
  return `id: ${context.cursorOf(event.seq)}\nevent: ${event.type}\ndata: ${envelopeOf(event, context)}\n\n`;
}
