/** What the primary tells a worker. */
export type Order =
  | { readonly order: 'stop' }
  | { readonly order: 'reload' }
  | { readonly order: 'maintenance'; readonly on: boolean }
  /** Tell your figures. */
  | { readonly order: 'figures'; readonly question: number }
  /** The figures of all workers, which this one has asked for. */
  | { readonly order: 'collected'; readonly question: number; readonly figures: readonly unknown[] };

/** What a worker tells the primary. */
export type Report =
  | { readonly report: 'ready'; readonly url: string }
  | { readonly report: 'figures'; readonly question: number; readonly figures: unknown }
  /** Ask all workers for their figures. */
  | { readonly report: 'collect'; readonly question: number };
