/** The differences of a version of the API. All versions have the same routes and run the same actions. */
export interface Version {
  /** As in the field API-Version. */
  readonly number: string;
  /** Every route is available below this path. */
  readonly mount: string;
  /** Where links and Location lead: to the root addresses, behind PUBLIC_PREFIX, or below the mount. */
  readonly links: 'root' | 'mount';
  /**
   * `numbered`: pages by their number, and whole arrays. `keyset`: each list is a page between cursors, its parameters are
   * strict, and its records have `_links`.
   */
  readonly lists: 'numbered' | 'keyset';
  readonly errors: ErrorForm;
  /** Whether the creation of a record below its parent responds with Location. */
  readonly locatesNested: boolean;
}

/** How errors are shown. */
export interface ErrorForm {
  /** Each error is application/problem+json; otherwise only for clients whose Accept names it. */
  readonly isAlwaysProblem: boolean;
  /** The members of a problem document for the request's id and for the failures of a body. */
  readonly requestId: 'requestId' | 'request_id';
  readonly failures: 'errors' | 'details';
}
