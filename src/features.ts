/** The features, and for each the others whose files it may import. No other file of the core knows a feature. */
export const FEATURES = {
  'api-docs': { uses: ['issuer', 'webhooks'] },
  completion: {},
  doctor: { uses: ['embedded'] },
  embedded: {},
  issuer: { uses: ['pages'] },
  'json-server': {},
  mcp: {},
  pages: { uses: ['webhooks'] },
  replicas: {},
  transfer: {},
  'version-calls': {},
  webhooks: {},
  workers: {},
} as const satisfies Readonly<Record<string, { readonly uses?: readonly string[] }>>;
