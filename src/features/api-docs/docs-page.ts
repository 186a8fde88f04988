import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { hashedReply } from '../../collection/representation.js';
import { noSuchPath, notFound } from '../../errors/request-errors.js';
import { html } from '../../formats/html.js';
import { HTML_TYPE } from '../../http/media-types.js';
import { readConditions } from '../../http/preconditions.js';
import type { Action } from '../../http/router.js';
import { APP_SCRIPT } from './docs-page-script.js';

const PACKAGE = 'swagger-ui-dist';

/** The files that the page loads from the package, with media types. */
const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui-bundle.js': 'text/javascript',
  'swagger-ui.css': 'text/css',
  'oauth2-redirect.html': HTML_TYPE,
  'oauth2-redirect.js': 'text/javascript',
};

/** Corrections of Swagger UI's style: contrast (WCAG 2.2, 1.4.3) and narrow windows. */
const STYLE = `
body { margin: 0; }
#docs > p { margin: 2rem; font-family: system-ui, sans-serif; }
.swagger-ui, .swagger-ui * { text-shadow: none; }
.swagger-ui .opblock .opblock-summary-method { color: #fff; }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #1f5fa8; }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: #1a6b45; }
.swagger-ui .opblock.opblock-put .opblock-summary-method { background: #8a4b00; }
.swagger-ui .opblock.opblock-patch .opblock-summary-method { background: #12665a; }
.swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #b3261e; }
.swagger-ui .opblock .opblock-summary-description { color: #2b2f33; }
.swagger-ui .opblock-tag small, .swagger-ui .info .base-url, .swagger-ui .servers-title { color: #40454a; }
.swagger-ui .info .title small { background: #40454a; }
.swagger-ui .info .title small.version-stamp { background: #1a6b45; }
.swagger-ui .btn.authorize { color: #1a6b45; border-color: #1a6b45; }
.swagger-ui a, .swagger-ui .info a { color: #1f5fa8; text-decoration: underline; }
.swagger-ui .wrapper { box-sizing: border-box; padding: 0 1rem; }
.swagger-ui .opblock-summary-path { word-break: break-all; }
@media (max-width: 40rem) { .swagger-ui .opblock-summary-description { display: none; } .swagger-ui table { display: block; overflow-x: auto; } }
`;

/** The files of this project that the page loads. */
const OWN: Readonly<Record<string, readonly [type: string, text: string]>> = {
  'app.js': ['text/javascript', APP_SCRIPT],
  'style.css': ['text/css', STYLE],
};

const PAGE = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API documentation · Plinth</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/style.css">
</head>
<body>
<div id="docs"><p>This page needs JavaScript. The document itself is <a href="openapi.json">openapi.json</a>.</p></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script type="module" src="docs/app.js"></script>
</body>
</html>
`.text;

/**
 * Only scripts of this origin. Swagger UI sets attributes `style`, and its images are data. `connect`: the authorization
 * server, if it has another origin.
 */
const policyOf = (connect: string | undefined): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    `connect-src 'self'${connect === undefined ? '' : ` ${connect}`}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** The fields about what the documentation page may load. `issuer`: the authorization server. */
function policyFields(issuer: string | undefined): string[] {
  const connect = issuer !== undefined && URL.canParse(issuer) ? new URL(issuer).origin : undefined;
  return ['Content-Security-Policy', policyOf(connect), 'Referrer-Policy', 'same-origin'];
}

/** The documentation page: Swagger UI from our own origin. */
export function docsPage(issuer: string | undefined): Action {
  const fields = [...fieldsOf(HTML_TYPE), ...policyFields(issuer)];
  return {
    run: async ({ headers }) => {
      await textOf('package.json');
      return hashedReply(fields, PAGE, readConditions(headers));
    },
  };
}

/** The files that the documentation page loads. */
export function docsAsset(issuer: string | undefined): Action {
  const policy = policyFields(issuer);
  return {
    run: async ({ params, headers }) => {
      const name = params.asset ?? '';
      const own = Object.hasOwn(OWN, name) ? OWN[name] : undefined;
      if (!own && !Object.hasOwn(ASSETS, name)) throw noSuchPath();
      const [type, text] = own ?? [ASSETS[name]!, await textOf(name)];
      const fields = [...fieldsOf(type), ...(type === HTML_TYPE ? policy : [])];
      return hashedReply(fields, text, readConditions(headers));
    },
  };
}

const fieldsOf = (type: string) => ['Content-Type', `${type}; charset=utf-8`];

/** The text of a file of the package, which is optional. Throws 404 without it. */
async function textOf(name: string): Promise<string> {
  try {
    return await readFile(createRequire(import.meta.url).resolve(`${PACKAGE}/${name}`), 'utf8');
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'MODULE_NOT_FOUND' || code === 'ENOENT')
      throw notFound.variant({ message: `This page needs the package ${PACKAGE}: npm install ${PACKAGE}.` });
    throw error;
  }
}
