/** A change of one record, as it was written with it. */
export interface Event {
  /** Its place in the feed: the events of one record are in the order of its changes. */
  readonly seq: number;
  /** `users.created`, `.updated` or `.deleted`. */
  readonly type: string;
  readonly record: string;
  /** The user whose it is. */
  readonly owner: string | null;
  /** RFC 3339. */
  readonly time: string;
  /** After the change; of a deleted record the last one. */
  readonly version: number;
  /** The document after the change, JSON without `_links`; null when the record was deleted. */
  readonly data: string | null;
}
