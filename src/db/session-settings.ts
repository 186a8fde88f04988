import type { Engine } from '../database-url/engine.js';

/** Settings of a session; undefined: the server's default. Those of every session are in pool/connection.ts. */
export type SessionSettings = Readonly<Record<string, string | number | undefined>>;

/** The work of triggers for the writes of a session. */
export interface TriggerTraits {
  /** Whether they record events. */
  readonly events: boolean;
  /** Whether they record tombstones of deleted records. */
  readonly tombstones: boolean;
}

export interface PoolTraits extends TriggerTraits {
  /** Limit of a statement, in milliseconds. */
  readonly timeoutMs: number;
  /** Limit of a search, in milliseconds. */
  readonly searchTimeoutMs: number;
  readonly engine: Engine;
}

/** The server detects a lost client, and releases what it held. */
const KEEPALIVES = { tcp_keepalives_idle: 30, tcp_keepalives_interval: 10, tcp_keepalives_count: 3 };

/** Sessions that one task has alone, by the task. */
export const TASK_SETTINGS = {
  migrate: { application_name: 'plinth migrate' },
  /** Changes of the tables of collections record no events. */
  schema: { application_name: 'plinth migrate', 'plinth.events': 'off' },
  listen: { application_name: 'plinth listen' },
  /** An attempt whether the database opens a session. */
  attempt: {},
} as const satisfies Record<string, SessionSettings>;

/** The session of an import or an export, which may take as long as it likes. */
export const bulkSettings = (traits: TriggerTraits): SessionSettings => ({
  application_name: 'plinth import',
  jit: 'off',
  statement_timeout: 0,
  idle_in_transaction_session_timeout: 0,
  ...triggerSettings(traits),
});

/** The sessions of the pools, by what runs on them. */
export function poolSettings({ timeoutMs, searchTimeoutMs, engine, ...triggers }: PoolTraits) {
  const limits = {
    ...KEEPALIVES,
    statement_timeout: timeoutMs,
    // Shorter, so that a wait for a lock is distinguishable from a slow statement.
    lock_timeout: Math.max(1, Math.floor(timeoutMs / 2)),
    idle_in_transaction_session_timeout: timeoutMs,
    tcp_user_timeout: timeoutMs,
  };
  return {
    // A plan made while a table was small must not scan it later. Parallel workers would read an index beyond the limit of a page.
    short: {
      ...limits,
      plan_cache_mode: engine.planCacheMode,
      enable_seqscan: 'off',
      max_parallel_workers_per_gather: 0,
      jit: 'off',
      ...triggerSettings(triggers),
    },
    // Planned for each term; the ids of a common term fit into memory.
    search: {
      ...limits,
      statement_timeout: searchTimeoutMs,
      plan_cache_mode: 'force_custom_plan',
      work_mem: '64MB',
      jit: 'off',
    },
    // Without time limits: a client may read as slowly as it likes, and delays no one.
    copy: { ...KEEPALIVES, jit: 'off' },
  } satisfies Record<string, SessionSettings>;
}

const triggerSettings = ({ events, tombstones }: TriggerTraits) => ({
  'plinth.tombstones': tombstones ? 'on' : 'off',
  'plinth.events': events ? 'on' : 'off',
});
