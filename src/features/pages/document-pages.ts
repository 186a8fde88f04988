import { html } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { formatLinks } from './formats.js';
import type { Crumb } from './layout.js';
import { listTable, recordTable } from './list-table.js';
import type { Page, PageOptions } from './pages.js';

const home = ({ site }: PageOptions): Crumb => ({ text: 'Home', href: `${site.prefix}/` });

const foot = ({ site, request, route }: PageOptions) =>
  formatLinks(site, request, route.actions.GET?.offers ?? []);

/** All codes of errors. */
export const errorsPage: Page = {
  content: (shown) => {
    const rows = (shown.json.data as JsonObject[]).map(({ code, status, message }) => ({
      code: code!,
      status: status!,
      message: message!,
    }));
    const self = `${shown.site.prefix}/errors`;
    return {
      title: 'Errors',
      crumbs: [home(shown), { text: 'errors' }],
      body: listTable(rows, ({ code }, field) => (field === 'code' ? `${self}/${code}` : undefined)),
      foot: foot(shown),
    };
  },
};

/** One code. */
export const errorCodePage: Page = {
  content: (shown) => ({
    title: String(shown.json.code),
    crumbs: [
      home(shown),
      { text: 'errors', href: `${shown.site.prefix}/errors` },
      { text: String(shown.json.code) },
    ],
    body: recordTable(shown.json),
    foot: foot(shown),
  }),
};

/** The caller. */
export const whoamiPage: Page = {
  content: (shown) => ({
    title: 'Who am I',
    crumbs: [home(shown), { text: 'whoami' }],
    body: html`${recordTable(shown.json)}`,
    foot: foot(shown),
  }),
};
