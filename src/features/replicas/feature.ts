import type { Reader } from '../../api/record-actions.js';
import type { Core } from '../../app/open-features.js';
import { connect } from '../../db/db.js';
import type { Feature } from '../../feature.js';
import type { Replica } from './replica.js';
import { REPLICA_SETTINGS } from './settings.js';

/** Reads from replicas of the database. */
export default {
  fields: { request: ['Write-Position'], response: ['Write-Position'] },
  open: async (core) => {
    const { config, db, log, metrics, feed, collections } = core;
    const { Replicas } = await import('./replicas.js');
    const { fromReplicas } = await import('./replica-fallback.js');
    // Sessions of replicas write nothing.
    const open = (url: string) => connect(url, { ...config, events: false }, metrics.db);
    const hasCursor = (replayed: number) =>
      !feed || feed.follower.commitHorizon.positionAt(replayed) !== undefined;
    const { databaseReadUrl, readMaxAgeMs } = REPLICA_SETTINGS.of(config);
    const hasRules = collections.some(({ resource }) => resource.hasRules);
    const settings = { ...config, databaseReadUrl: databaseReadUrl!, readMaxAgeMs, hasRules };
    const replicas = new Replicas(settings, db, open, log, hasCursor);
    const readers = replicas.all.map((replica) => [replica, readerOf(replica, core)] as const);
    return {
      read: (primary, make) => {
        const actions = readers.map(([replica, reader]) => [replica, make(reader)] as const);
        return fromReplicas(replicas, make(primary), new Map(actions));
      },
      wrote: (subject, fields) => replicas.noteWrite(subject, fields),
      close: () => replicas.close(),
    };
  },
} satisfies Feature;

function readerOf(replica: Replica, { collectionsOn, feed }: Core): Reader {
  const cursor = () => feed?.cursorAt(replica.replayed ?? 0);
  return { db: replica.db, collections: collectionsOn(replica.db), feed: { cursor } };
}
