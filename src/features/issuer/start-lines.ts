import type { Run } from '../../db/db.js';
import type { StartLine } from '../../feature.js';

/** The parts that the authorization server lacks before someone can sign in, and how a user does. A user has a password. */
export async function startLines(run: Run): Promise<StartLine[]> {
  const [row] = await run(
    'select exists (select from passwords) as users, exists (select from issuer_clients) as clients',
    [],
  );
  const lines: [name: string, text: string, isShown: boolean][] = [
    ['first user', 'plinth users create ann@example.org --name Ann --scopes admin', row!.users !== true],
    [
      'first client',
      'plinth clients create --name terminal --redirect http://127.0.0.1/callback --scopes openid,self,admin',
      row!.clients !== true,
    ],
    ['sign in', 'plinth login --client ID', true],
  ];
  return lines.filter(([, , isShown]) => isShown).map(([name, text]) => ({ name, text, position: 7 }));
}
