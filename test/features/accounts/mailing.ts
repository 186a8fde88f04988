import { makeUser } from '../../support/credentials.js';
import { openWithMail } from '../../support/mail-server.js';
import { type TestService, testService } from '../../support/service.js';
import type { Constants } from '../../support/settings.js';
import type { Test } from '../../support/test.js';
import { until } from '../../support/until.js';

export const ANN = 'ann@example.org';

/** Constants by which messages are sent at once, and again at once after a failure, for as many requests as tests make. */
export const QUICK_MAIL = { mailPollMs: 50, mailRetrySeconds: 0, requestsPerAddress: 1000 };

const PUBLIC_URL = 'https://api.example.org';

/** Settings of a service that sends its messages to a server. */
export const mailBy = ({ url }: { readonly url: string }) => ({
  ...{ SMTP_URL: url, MAIL_FROM: 'Plinth <service@example.org>' },
  PUBLIC_URL,
});

export const CODE = /[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}/;

/** The code in a message. */
export const codeIn = (text: string): string => CODE.exec(text)![0];

export const rowsOf = async ({ db }: Pick<TestService, 'db'>, table: string): Promise<number> =>
  (await db.run(`select from ${table}`, [])).length;

/** A service that sends messages, with a user. */
export async function mailing(t: Test, env: Record<string, string> = {}, constants: Constants = {}) {
  const settings = { AUTH: 'basic', INSECURE: 'basic', AUTH_FAILURES: '0', ...env };
  const { mail, opened: service } = await openWithMail(
    t,
    (by) => testService(t, { PUBLIC_URL, ...by, ...settings }, { ...QUICK_MAIL, ...constants }),
    (opened) => opened,
  );
  const { id } = await makeUser(service, ANN);
  const message = (at: number) => until('the message arrives', () => mail.received[at]);
  const code = async (at: number) => codeIn((await message(at)).text);
  return { service, mail, id, message, code };
}

/** The messages of a service with MAIL=log. */
export const loggedMessages = ({ logged }: Pick<TestService, 'logged'>) =>
  logged
    .filter((line) => /which MAIL=log does not send/.test(line))
    .map((line) => JSON.parse(line) as Readonly<Record<'recipient' | 'subject' | 'text', string>>);
