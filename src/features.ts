import type { FeatureEntry } from './feature.js';
import { ACCOUNTS_SETTINGS } from './features/accounts/settings.js';
import { API_DOCS_SETTINGS } from './features/api-docs/settings.js';
import { EMBEDDED_SETTINGS } from './features/embedded/settings.js';
import { ISSUER_SETTINGS } from './features/issuer/settings.js';
import { JOB_SETTINGS } from './features/jobs/settings.js';
import { JSON_SERVER_SETTINGS } from './features/json-server/settings.js';
import { KEY_SETTINGS } from './features/keys/settings.js';
import { MCP_SETTINGS } from './features/mcp/settings.js';
import { PAGE_SETTINGS } from './features/pages/settings.js';
import { REPLICA_SETTINGS } from './features/replicas/settings.js';
import { SITE_SETTINGS } from './features/site/settings.js';
import { WEBHOOK_SETTINGS } from './features/webhooks/settings.js';
import { WORKER_SETTINGS } from './features/workers/settings.js';

/**
 * The features, in the order of their endpoints and commands. Those that say how the service runs are first: a process looks
 * for them before it loads others. No other file of the core names one.
 */
export const FEATURES: readonly FeatureEntry[] = [
  { name: 'watch', isOnlyCommands: true, load: () => import('./features/watch/feature.js') },
  {
    name: 'embedded',
    settings: EMBEDDED_SETTINGS,
    load: () => import('./features/embedded/feature.js'),
  },
  {
    name: 'workers',
    settings: WORKER_SETTINGS,
    load: () => import('./features/workers/feature.js'),
  },
  { name: 'transfer', isOnlyCommands: true, load: () => import('./features/transfer/feature.js') },
  { name: 'keys', settings: KEY_SETTINGS, load: () => import('./features/keys/feature.js') },
  {
    name: 'user-accounts',
    isFor: (resources, { auth }) =>
      (auth.includes('basic') || auth.includes('bearer')) &&
      resources.some(({ hasPasswords }) => hasPasswords),
    load: () => import('./features/user-accounts/feature.js'),
  },
  {
    name: 'access',
    isFor: (resources) => resources.some(({ hasRules }) => hasRules),
    load: () => import('./features/access/feature.js'),
  },
  {
    name: 'jobs',
    settings: JOB_SETTINGS,
    uses: ['transfer'],
    load: () => import('./features/jobs/feature.js'),
  },
  {
    name: 'replicas',
    settings: REPLICA_SETTINGS,
    load: () => import('./features/replicas/feature.js'),
  },
  {
    name: 'json-server',
    settings: JSON_SERVER_SETTINGS,
    load: () => import('./features/json-server/feature.js'),
  },
  { name: 'webhooks', settings: WEBHOOK_SETTINGS, load: () => import('./features/webhooks/feature.js') },
  {
    name: 'issuer',
    settings: ISSUER_SETTINGS,
    uses: ['accounts'],
    load: () => import('./features/issuer/feature.js'),
  },
  {
    name: 'accounts',
    settings: ACCOUNTS_SETTINGS,
    uses: ['webhooks'],
    load: () => import('./features/accounts/feature.js'),
  },
  { name: 'site', settings: SITE_SETTINGS, load: () => import('./features/site/feature.js') },
  {
    name: 'pages',
    settings: PAGE_SETTINGS,
    load: () => import('./features/pages/feature.js'),
  },
  {
    name: 'api-docs',
    settings: API_DOCS_SETTINGS,
    uses: ['issuer', 'replicas'],
    load: () => import('./features/api-docs/feature.js'),
  },
  {
    name: 'mcp',
    settings: MCP_SETTINGS,
    uses: ['api-docs'],
    load: () => import('./features/mcp/feature.js'),
  },
  {
    name: 'doctor',
    isOnlyCommands: true,
    uses: ['accounts', 'embedded', 'issuer', 'replicas'],
    load: () => import('./features/doctor/feature.js'),
  },
];
