import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import { build } from 'esbuild';

/**
 * Makes of what tsc has made: plinth.cjs, the whole of Plinth in one file with its SQL inlined; plinth.cache, what V8
 * compiles of it, and start.cjs, which starts it with that; health.sh and health.cjs, which check whether it responds;
 * mcp-sdk.cjs and issuer-packages.cjs, which it loads with MCP=on and AUTH_SERVER=on; and bcrypt.node, which verifies
 * imported passwords on this platform. They go to dist, or to the folder that is named.
 */

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const folder = process.argv[2] ?? at('dist');

/** Takes the place of src/db/sql-files.ts. */
function inlinedSql() {
  const names = readdirSync(at('sql'), { recursive: true }).filter((name) => name.endsWith('.sql'));
  const texts = Object.fromEntries(
    names.map((name) => [name.replaceAll('\\', '/'), readFileSync(at(`sql/${name}`), 'utf8')]),
  );
  return `const texts = ${JSON.stringify(texts)};
    export const readSql = (file) => texts[file];
    export const listSql = () => Object.keys(texts);`;
}

/** Takes the place of src/declarations/built-in.ts. */
function inlinedDeclarations() {
  const names = readdirSync(at('collections')).filter((name) => name.endsWith('.json'));
  const texts = names.sort().map((name) => [name, readFileSync(at(`collections/${name}`), 'utf8')]);
  const schemas = ['collection', 'access-test'].map((name) => [
    name,
    readFileSync(at(`schema/${name}.schema.json`), 'utf8'),
  ]);
  return `export const builtInFiles = () => new Map(${JSON.stringify(texts)});
    const schemas = ${JSON.stringify(Object.fromEntries(schemas))};
    export const schemaText = (name) => schemas[name];`;
}

/** Takes the place of src/version.ts. */
function inlinedVersion() {
  const { version } = JSON.parse(readFileSync(at('package.json'), 'utf8'));
  return `export const versionOf = () => ${JSON.stringify(version)};`;
}

const common = {
  outdir: folder,
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20.19',
  charset: 'ascii',
  // `require` in place of `import()`, which code from a cache cannot call.
  supported: { 'dynamic-import': false },
  // Not the identifiers: stacks in the log keep their names, and `keepNames` would make the start longer.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'eof',
  logLevel: 'warning',
  define: { 'import.meta.url': 'importMetaUrl' },
  plugins: [
    {
      name: 'inlined-sql',
      setup: ({ onLoad }) => onLoad({ filter: /\/db\/sql-files\.js$/ }, () => ({ contents: inlinedSql() })),
    },
    {
      name: 'inlined-declarations',
      setup: ({ onLoad }) =>
        onLoad({ filter: /\/declarations\/built-in\.js$/ }, () => ({ contents: inlinedDeclarations() })),
    },
    {
      // node-gyp-build looks for bcrypt.node in a folder of packages, which a bundle does not have.
      name: 'bcrypt-beside',
      setup: ({ onResolve, onLoad }) => {
        onResolve({ filter: /\/bcrypt\.node$/ }, () => ({ path: './bcrypt.node', external: true }));
        onLoad({ filter: /\/node-gyp-build\/[\w-]+\.js$/ }, () => ({
          contents: "module.exports = () => require('./bcrypt.node');",
        }));
      },
    },
    {
      name: 'inlined-version',
      setup: ({ onLoad }) =>
        onLoad({ filter: /\/src\/version\.js$/ }, () => ({ contents: inlinedVersion() })),
    },
  ],
};
/** Leaves the package that only MCP=on loads out of the file that every start loads. */
const sdkApart = {
  name: 'sdk-apart',
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/sdk\.js$/ }, ({ importer }) =>
      importer === at('dist/src/features/mcp/mcp-server.js')
        ? { path: './mcp-sdk.cjs', external: true }
        : undefined,
    ),
};
/** Packages that only AUTH_SERVER=on loads. */
const ISSUER_PACKAGES = /^(\.{1,2}\/oidc-provider\.js|@simplewebauthn\/server(\/helpers)?|otpauth|uqr)$/;
const issuerApart = {
  name: 'issuer-apart',
  setup: ({ onResolve }) =>
    onResolve({ filter: ISSUER_PACKAGES }, () => ({ path: './issuer-packages.cjs', external: true })),
};
/** All that src/features/issuer imports of them. */
const issuerPackages = `
  export { errors, interactionPolicy, Provider } from './dist/src/features/issuer/oidc-provider.js';
  export * from '@simplewebauthn/server';
  export { decodeAttestationObject, isoBase64URL } from '@simplewebauthn/server/helpers';
  export { Secret, TOTP } from 'otpauth';
  export { renderSVG } from 'uqr';`;
const url = "const importMetaUrl = require('node:url').pathToFileURL(__filename).href;";

/** Runs what follows, which is as Node has it of a CommonJS module, or gives it to who has no `require` yet: start.cjs. */
const RUN_ALONE = `(function (run) {
  if (typeof require === 'function') run(exports, require, module, __filename, __dirname);
  return run;
})`;

/** All functions, also those that a start does not come to: what is not in the cache is compiled when it is called. */
function compiled(filename) {
  setFlagsFromString('--no-lazy');
  const script = new Script(readFileSync(filename, 'latin1'), { filename });
  // Before the cache is made: it holds for the flags that there are then.
  setFlagsFromString('--lazy');
  return script.createCachedData();
}

// A cache without its bundle would be believed.
rmSync(join(folder, 'plinth.cache'), { force: true });
await Promise.all([
  build({
    ...common,
    entryPoints: { plinth: at('dist/src/cli/plinth.js') },
    plugins: [...common.plugins, sdkApart, issuerApart],
    banner: {
      js: `${RUN_ALONE}(function (exports, require, module, __filename, __dirname) {'use strict';${url}`,
    },
    footer: { js: '})' },
  }),
  build({
    ...common,
    entryPoints: { 'mcp-sdk': at('dist/src/features/mcp/sdk.js') },
    banner: { js: `'use strict';${url}` },
  }),
  build({
    ...common,
    outdir: undefined,
    outfile: join(folder, 'issuer-packages.cjs'),
    // oidc-provider stores records by the names of its classes.
    keepNames: true,
    stdin: { contents: issuerPackages, resolveDir: at('.') },
    banner: { js: `'use strict';${url}` },
  }),
  build({
    ...common,
    entryPoints: { health: at('dist/src/cli/healthcheck.js') },
    banner: { js: `'use strict';${url}` },
  }),
]);
writeFileSync(join(folder, 'plinth.cache'), compiled(join(folder, 'plinth.cjs')));
for (const name of ['start.cjs', 'health.sh']) copyFileSync(at(`.ci/${name}`), join(folder, name));
// The package that bcrypt itself finds its program with.
const { path: programOf } = createRequire(at('node_modules/bcrypt/bcrypt.js'))('node-gyp-build');
copyFileSync(programOf(at('node_modules/bcrypt')), join(folder, 'bcrypt.node'));
