import { ConfigError } from '../../config/config.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { Log } from '../../telemetry/log.js';
import type { Message } from './mail-messages.js';
import type { AccountsConfig } from './settings.js';

/** Sends one message. Rejects with MailRefused if it can never be sent, with any other error if it can be sent later. */
export type Send = (id: string, recipient: string, message: Message) => Promise<void>;

/** The server does not accept the message, or the recipient. */
export class MailRefused extends Error {}

/** For the connection, for the greeting and for each response. */
const TIMEOUT_MS = 10_000;

/** Writes messages to the log, with their links, at the level that every service shows by default. */
export const logTransport =
  (log: Log): Send =>
  async (_id, recipient, { subject, text }) => {
    log.warn({ recipient, subject, text }, 'a message, which MAIL=log does not send');
  };

/** Requests another program to send each message, with the signatures of webhooks. Throws ConfigError for an invalid secret. */
export function webhookTransport(
  { mailWebhook, mailWebhookSecret: secret, mailFrom: from }: AccountsConfig,
  { keyOf, signWebhook }: typeof import('../webhooks/sign.js'),
): Send {
  if (!keyOf(secret!))
    throw new ConfigError(['MAIL_WEBHOOK_SECRET must be `whsec_` and the base64 of 24 to 64 bytes']);
  const { pathname, search } = new URL(mailWebhook!);
  return async (id, to, message) => {
    const body = JSON.stringify({ id, ...(from !== undefined && { from }), to, ...message });
    const timestamp = Math.floor(Date.now() / 1000);
    const signed = signWebhook({ id, timestamp, target: pathname + search, body }, [secret!]);
    const response = await fetch(mailWebhook!, {
      method: 'POST',
      headers: { 'Content-Type': JSON_TYPE, ...signed },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.body?.cancel();
    if (response.status === 422) throw new MailRefused('status 422');
    if (!response.ok) throw new Error(`status ${response.status}`);
  };
}

/** Sends messages by SMTP. `package`: nodemailer, which is loaded when the service has a server. */
export function smtpTransport(
  { smtpUrl, mailFrom }: AccountsConfig,
  { createTransport }: typeof import('nodemailer'),
): Send {
  const transport = createTransport({
    url: smtpUrl!,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    // A message is text of this service alone: no file and no address is read for it.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return async (id, recipient, message) => {
    const domain = mailFrom!.slice(mailFrom!.lastIndexOf('@') + 1).replace('>', '');
    try {
      // An attempt that is repeated has the same id, by which servers recognize it.
      await transport.sendMail({
        from: mailFrom!,
        to: { name: '', address: recipient },
        messageId: `<${id}@${domain}>`,
        ...message,
      });
    } catch (error) {
      const { responseCode = 0, message: reason } = error as Error & { responseCode?: number };
      // 5xx of the recipient or the content; a failed login or connection is a fault of the operator, who can correct it.
      if (responseCode >= 550 && responseCode < 560) throw new MailRefused(reason);
      throw error;
    }
  };
}
