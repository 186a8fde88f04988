/** Whether a record fulfils the conditions of a reader since a change, as before it, or no longer. */
export type Match = 'entered' | 'changed' | 'left';

/** A change of one record. */
export interface Event {
  /** The event's number in the feed. The events of one record are in the order of its changes. */
  readonly seq: number;
  /** `users.created`, `.updated` or `.deleted`. */
  readonly type: string;
  readonly record: string;
  /** The user that owns the record. */
  readonly owner: string | null;
  /** Who made the change; null: unknown. */
  readonly actor: string | null;
  /** RFC 3339. */
  readonly time: string;
  /** The record's version after the change; the last one if it was deleted. */
  readonly version: number;
  /** The document after the change, without `_links`; null if the record was deleted. */
  readonly data: string | null;
  /** The columns of the record before the change as JSON; null: it was created, or the event is from before migration 0330. */
  readonly former: string | null;
  /** Only for readers with conditions. */
  readonly match?: Match;
}
