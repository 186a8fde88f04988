import { BATCH_PATH, batch } from '../actions/batch.js';
import type { Resource } from '../collection/resource.js';
import type { Config } from '../config/config.js';
import type { Router } from '../http/router.js';
import { json } from './doc.js';
import { ERRORS, type ErrorServices, HOME, type HomeServices } from './document-endpoints.js';
import { at, type Endpoint, scopesOf } from './endpoint.js';
import { EVENTS } from './event-endpoints.js';
import type { Api } from './record-actions.js';
import { type RecordServices, recordEndpoints } from './record-endpoints.js';
import {
  HEALTH,
  type HealthServices,
  METRICS,
  type MetricServices,
  metadata,
  WHOAMI,
} from './service-endpoints.js';

/** The services that endpoints of the core run with. */
export interface Services
  extends Api,
    ErrorServices,
    HealthServices,
    MetricServices,
    RecordServices,
    Omit<HomeServices, 'settings'> {
  /** Finds all endpoints that a batch may contain. */
  readonly router: Router;
}

/** The settings that decide which endpoints the core has. */
export type ApiConfig = Pick<Config, 'auth' | 'events' | 'metricsPort' | 'anyParameters'>;

/** The endpoints of the core that come before those of features. */
export function coreEndpoints(
  { auth, events, metricsPort, anyParameters }: ApiConfig,
  resources: readonly Resource[],
): Endpoint<Services>[] {
  const first: Endpoint<Services>[] = [
    ...recordEndpoints(resources, anyParameters, events),
    WHOAMI,
    ...ERRORS,
    ...(events ? EVENTS : []),
  ];
  return [
    ...first,
    ...(auth.includes('bearer')
      ? [metadata([...new Set([...scopesOf(first), 'events:read', 'admin'])])]
      : []),
    ...HEALTH,
    ...(metricsPort === undefined ? [METRICS] : []),
  ];
}

const BATCH: Endpoint<Services> = {
  ...at('POST', BATCH_PATH, 'credential'),
  isSeparate: true,
  isOnce: true,
  doc: {
    id: 'batch',
    tag: 'batch',
    summary: 'Run up to 100 operations in one transaction, all or nothing',
    body: { 'application/json': 'Batch' },
    success: { 200: json('One result for each operation.', 'BatchResults', ['Idempotency-Replayed']) },
    runsOthers: true,
    fields: ['Idempotency-Key'],
  },
  open: (api) => batch(api.db, api.collections, api.router, api.settings),
};

/** The endpoints of the core that come after those of features. */
export const LAST_ENDPOINTS: readonly Endpoint<Services>[] = [HOME, BATCH];
