import { at, type Endpoint } from '../../api/endpoint.js';
import type { Core } from '../../app/open-features.js';
import { html } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { mountOf, VERSIONS } from '../../versions/supported.js';
import { jsonReply, type PageServices } from './declaration-files.js';
import { entriesTable } from './list-table.js';
import type { Page } from './pages.js';

/** No collection can have this name. */
export const VERSIONS_PATH = '/api-versions';

/** The endpoint of the page with the versions, which no document mentions. */
export const VERSIONS_ENDPOINT: Endpoint<PageServices> = {
  ...at('GET', VERSIONS_PATH, { scopes: ['admin'] }),
  parameters: [],
  run: ({ versions }) => jsonReply({ data: versions() }),
};

/** The versions of the API with the requests that this process has received for each, and the dates on which each retires. */
export const versionsIn =
  ({ config, metrics }: Pick<Core, 'config' | 'metrics'>) =>
  (): JsonObject[] =>
    VERSIONS.map((version) => {
      const { number } = version;
      const { deprecation, sunset } = config.retirement[number] ?? {};
      const sample = metrics.http.versions.family.samples().find(({ labels }) => labels.version === number);
      return {
        path: mountOf(version, config.publicPrefix),
        requests: sample?.value ?? 0,
        deprecation: deprecation?.toISOString() ?? null,
        sunset: sunset?.toISOString() ?? null,
      };
    });

export const versionsPage: Page = {
  content: ({ json }) => ({
    title: 'Versions',
    body: html`${entriesTable(json.data as JsonObject[], ['path', 'requests', 'deprecation', 'sunset'], ({ path }) => `${String(path)}/openapi.json?_format=json`)}
<p class="hint">Requests that this process has received since its start. <code>V1_DEPRECATION</code> and <code>V1_SUNSET</code> set the dates.</p>`,
  }),
};
