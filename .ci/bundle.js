import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/**
 * Makes of what tsc has made: plinth.js, the whole of Plinth in one file with its SQL inlined, and health.js, which asks
 * whether it answers. They go to dist, or to the folder that is named.
 */

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** Takes the place of src/db/sql-files.ts. */
function inlinedSql() {
  const names = readdirSync(at('sql'), { recursive: true }).filter((name) => name.endsWith('.sql'));
  const texts = Object.fromEntries(
    names.map((name) => [name.replaceAll('\\', '/'), readFileSync(at(`sql/${name}`), 'utf8')]),
  );
  return `const texts = ${JSON.stringify(texts)};
    export const readSql = (file) => texts[file];
    export const listMigrations = () =>
      Object.keys(texts).filter((name) => name.startsWith('migrations/')).map((name) => name.slice(11));`;
}

await build({
  entryPoints: { plinth: at('dist/src/cli.js'), health: at('dist/src/health.js') },
  outdir: process.argv[2] ?? at('dist'),
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  // Not the identifiers: stacks in the log keep their names, and `keepNames` would make the start longer.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'linked',
  logLevel: 'warning',
  // Packages that are CommonJS require Node's own modules.
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  },
  plugins: [
    {
      name: 'inlined-sql',
      setup: ({ onLoad }) => onLoad({ filter: /\/db\/sql-files\.js$/ }, () => ({ contents: inlinedSql() })),
    },
  ],
});
