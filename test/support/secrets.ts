import type { SendOptions, ServiceResponse } from './service.js';
import type { Test } from './test.js';

/** Shorter ones are not worth looking for: they occur by chance. */
const SHORTEST = 8;

export interface Watch {
  readonly sent: (path: string, options: SendOptions) => void;
  readonly onResponse: (response: ServiceResponse) => void;
}

/**
 * Looks, when the test ends, for every credential that was sent or configured in all lines that the service has logged and
 * in the errors that it responded with, which are added to `printed`.
 */
export function watchSecrets(t: Test, env: Record<string, string>, printed: string[]): Watch {
  const secrets = new Set<string>();
  const add = (secret: unknown) => {
    if (typeof secret === 'string' && secret.length >= SHORTEST) secrets.add(secret);
  };
  for (const { secret } of JSON.parse(env.SIGNING_SECRETS ?? '[]') as { secret: string }[]) add(secret);
  if (env.INTROSPECTION) add(decodeURIComponent(new URL(env.INTROSPECTION).password));
  t.teardown(() => {
    for (const text of printed)
      for (const secret of secrets)
        if (text.includes(secret)) throw new Error(`a credential was printed: ${text}`);
  });
  return {
    sent: (path, { headers = {}, body }) => {
      const fields = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
      );
      const [scheme = '', credentials = ''] = String(fields.authorization ?? '').split(/ +/);
      add(credentials);
      if (scheme.toLowerCase() === 'basic')
        add(
          Buffer.from(credentials, 'base64')
            .toString()
            .replace(/^[^:]*:/, ''),
        );
      add(fields['x-api-key']);
      add(fields['x-signature']);
      const { password, current_password } = (body ?? {}) as Record<string, unknown>;
      add(password);
      add(current_password);
      add(/=(plinth_\w+)/.exec(path)?.[1]);
    },
    onResponse: ({ status, text, headers, json }) => {
      add(json?.secret);
      if (status >= 400) printed.push(`${status} ${JSON.stringify(headers)} ${text}`);
    },
  };
}
