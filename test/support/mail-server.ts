import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { TestService } from './service.js';
import current, { type Test } from './test.js';
import { until } from './until.js';

/** A message as a server has received it. */
export interface Received {
  readonly to: string;
  readonly raw: string;
  /** The plain text, without the encoding of its lines. */
  readonly text: string;
  readonly isEncrypted: boolean;
}

export interface MailServer {
  readonly url: string;
  readonly received: Received[];
  /** The recipients of all attempts. */
  readonly attempts: string[];
  /** The code of SMTP for each recipient: 250 accepts. */
  code: number;
}

/** An SMTP server on a port of its own. With `pair`, it needs TLS: from the start, or by STARTTLS. */
export async function mailServer(t: Test, options: SMTPServerOptions = {}): Promise<MailServer> {
  const received: Received[] = [];
  const attempts: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: options.key ? [] : ['STARTTLS'],
    logger: false,
    ...options,
    onRcptTo: ({ address }, _session, done) => {
      attempts.push(address);
      const { code } = mail;
      done(code === 250 ? null : Object.assign(new Error('not accepted'), { responseCode: code }));
    },
    onData: (stream, session, done) => {
      void text(stream).then((raw) => {
        const to = session.envelope.rcptTo.map(({ address }) => address).join();
        received.push({ to, raw, text: plainOf(raw), isEncrypted: session.secure });
        done();
      });
    },
  });
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.server.address() as AddressInfo;
  const mail: MailServer = {
    url: `${options.secure ? 'smtps' : 'smtp'}://127.0.0.1:${port}`,
    received,
    attempts,
    code: 250,
  };
  return mail;
}

/** The mail servers of a file that none of its tests uses now. */
const idle = new WeakMap<Test, MailServer[]>();

/** A mail server that tests of a file use one after the other, so that their services can have the same settings. */
async function sharedServer(): Promise<MailServer> {
  const servers = idle.get(current) ?? [];
  idle.set(current, servers);
  return servers.pop() ?? mailServer(current);
}

/** Opens a service that sends messages, which is idle after the test as soon as no message waits. */
export async function openWithMail<Opened>(
  t: Test,
  open: (settings: { SMTP_URL: string; MAIL_FROM: string }) => Promise<Opened>,
  serviceOf: (opened: Opened) => TestService,
): Promise<{ readonly mail: MailServer; readonly opened: Opened }> {
  const mail = await sharedServer();
  const opened = await open({ SMTP_URL: mail.url, MAIL_FROM: 'Plinth <service@example.org>' });
  t.teardown(async () => {
    mail.code = 250;
    await untilSent(serviceOf(opened));
    mail.received.length = 0;
    mail.attempts.length = 0;
    idle.get(current)!.push(mail);
  });
  return { mail, opened };
}

/** Resolves when no message and no note of a change waits. */
export const untilSent = async ({ db }: TestService): Promise<void> => {
  const waiting =
    'select from plinth_mail union all select from plinth_account_log where recipient is not null';
  await until('no message waits', async () => (await db.run(waiting, [])).length, 0);
};

/** The lines of the part with plain text. */
function plainOf(raw: string): string {
  const part = /Content-Type: text\/plain[\s\S]*?\r\n\r\n([\s\S]*?)\r\n----/.exec(raw)?.[1] ?? raw;
  const bytes = part
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
