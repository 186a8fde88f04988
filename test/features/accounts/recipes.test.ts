import { AUDIENCE, claims, sign, signingKey, testIssuer } from '../../support/issuer.js';
import { headingsOf, runPage } from '../../support/page-commands.js';
import t from '../../support/test.js';
import { some } from '../../support/thorough.js';

const PAGE = 'docs/recipes.md';
const [BEGIN, ...RECIPES] = headingsOf(PAGE);
const NAMES = ['ann', 'bob', 'eve'];
const WHOAMI = `http://127.0.0.1:3000/whoami | sed 's/.*"subject":"\\([^"]*\\)".*/id:  \\1/'; echo`;

/** A command of the recipes with tokens of another issuer in place of passwords. */
const byToken = (command: string): string =>
  command
    .replaceAll(
      /^echo \S+ \| plinth users create (\w+)@.*$/gm,
      (_, name) => `curl -s ${bearer(name)} ${WHOAMI}`,
    )
    .replaceAll(/-u (\w+)@example\.org:\S+/g, (_, name) => bearer(name));

const bearer = (name: string) => `-H "Authorization: Bearer $TOKEN_${name}"`;

for (const heading of some(RECIPES, 2))
  t.test(`the recipe runs with users of another issuer: ${heading}`, async (t) => {
    const key = await signingKey('recipes');
    const issuer = await testIssuer(t, key);
    const tokens = NAMES.map(async (name) => {
      const more = {
        sub: `auth0|${name}`,
        scope: 'self',
        email: `${name}@example.org`,
        email_verified: true,
      };
      const shown = `${name[0]!.toUpperCase()}${name.slice(1)}`;
      return [`TOKEN_${name}`, await sign(key, claims(issuer.url, { ...more, name: shown }))] as const;
    });
    await runPage(t, PAGE, {
      headings: [BEGIN!, heading],
      copied: [],
      instead: byToken,
      env: {
        MIGRATE: 'auto',
        ISSUER: issuer.url,
        AUDIENCE,
        USERS_FROM_ISSUER: 'create',
        ...Object.fromEntries(await Promise.all(tokens)),
      },
    });
  });
