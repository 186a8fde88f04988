/** A change of one record. */
export interface Event {
  /** The event's number in the feed. The events of one record are in the order of its changes. */
  readonly seq: number;
  /** `users.created`, `.updated` or `.deleted`. */
  readonly type: string;
  readonly record: string;
  /** The user that owns the record. */
  readonly owner: string | null;
  /** RFC 3339. */
  readonly time: string;
  /** The record's version after the change; the last one if it was deleted. */
  readonly version: number;
  /** The document after the change, without `_links`; null if the record was deleted. */
  readonly data: string | null;
}
