/** A message from the primary to a worker. `request` numbers the requests for metrics. */
export type WorkerOrder =
  | { readonly order: 'stop' }
  | { readonly order: 'reload' }
  | { readonly order: 'maintenance'; readonly on: boolean }
  /** Requests the metrics of this worker. */
  | { readonly order: 'metrics'; readonly request: number }
  /** The metrics of all workers, which this worker has requested. */
  | { readonly order: 'collected'; readonly request: number; readonly metrics: readonly unknown[] }
  /** The reply to `leaves`: no connection follows it. */
  | { readonly order: 'leave' };

/** A message from a worker to the primary. */
export type WorkerReport =
  | { readonly report: 'ready'; readonly url: string }
  | { readonly report: 'metrics'; readonly request: number; readonly metrics: unknown }
  /** Requests the metrics of all workers. */
  | { readonly report: 'collect'; readonly request: number }
  /** This worker listens no more and is about to exit. */
  | { readonly report: 'leaves' };
