import { html } from '../../formats/html.js';
import { hidden, layout } from './layout.js';

export interface ConsentPage {
  readonly client: string;
  readonly csrf: string;
  /** The user's email. */
  readonly account: string;
  /** What the client requests and the user may allow. */
  readonly scopes: readonly string[];
}

/** What scopes of OpenID Connect mean to people. */
const MEANINGS: Readonly<Record<string, string>> = {
  openid: 'know who you are',
  email: 'read your email address',
  profile: 'read your name',
  offline_access: 'stay connected when you have signed out',
  self: 'read and change your own records',
  admin: 'administer this service',
};

/** The question whether the client may act for the user. */
export function consentPage({ client, csrf, account, scopes }: ConsentPage): string {
  const items = scopes.map((scope) => html`<li>${meaningOf(scope)}</li>\n`);
  return layout(
    'Allow access',
    html`<p><strong>${client}</strong> asks to act for ${account}:</p>
<ul>
${items}</ul>
<form method="post">
${hidden('csrf', csrf)}
<button class="main" name="action" value="allow">Allow</button>
<button name="action" value="cancel">Deny</button>
</form>`,
  );
}

function meaningOf(scope: string): string {
  const [collection, verb] = scope.split(':');
  return MEANINGS[scope] ?? (verb === 'write' ? `read and change ${collection}` : `read ${collection}`);
}
