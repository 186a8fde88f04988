import { createHash } from 'node:crypto';
import { Html, html, pageHeaders } from '../../../formats/html.js';
import { hidden, layout, sourceOf } from './page-frame.js';

const SCRIPT = 'document.forms[0].submit()';
const SCRIPT_SOURCE = `'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`;

/**
 * A page that submits fields to its own address, by itself or by its button. `redirectUris`: where the response may lead.
 * Returns its fields and its HTML.
 */
export function continuePage(
  fields: readonly (readonly [string, string])[],
  { submitsItself, redirectUris }: { submitsItself: boolean; redirectUris: readonly string[] },
): { headers: readonly string[]; body: string } {
  const targets = [...new Set(redirectUris.map(sourceOf))].join(' ');
  return {
    headers: pageHeaders({
      formTarget: targets === '' ? undefined : targets,
      script: submitsItself ? SCRIPT_SOURCE : undefined,
    }),
    body: layout(
      'Continue',
      html`<p>An application has sent you here.</p>
<form method="post">
${fields.map(([name, value]) => hidden(name, value))}
<button class="main">Continue</button>
</form>
${submitsItself && html`<script>${new Html(SCRIPT)}</script>`}`,
    ),
  };
}
