import type { Db, Row } from '../../db/db.js';
import { counter } from '../../telemetry/instruments.js';
import type { Log } from '../../telemetry/log.js';
import { singleFlight } from '../../work/shared-runs.js';
import { ACCOUNTS_SQL, INVITATIONS_SQL } from './accounts-statements.js';
import {
  type Language,
  type Message,
  type MessageValues,
  messageOf,
  messageText,
  type Purpose,
} from './mail-messages.js';
import { MailRefused, type Send } from './mail-transport.js';
import { CODE_SECONDS, type CodeKind, createCode } from './mailed-code.js';
import { maySignUp } from './new-user.js';
import type { AccountsConfig } from './settings.js';

/** Messages that are sent at a time. */
const AT_ONCE = 10;

/** The pages to which messages lead, by their purposes. */
const PAGES: Readonly<Record<Purpose, string>> = {
  reset: '/reset-password',
  changed: '/forgotten-password',
  'sign-up': '/sign-up',
  known: '/forgotten-password',
  factors: '/account',
  invitation: '/accept-invitation',
  address: '/confirm-address',
  removal: '/confirm-removal',
  moved: '/forgotten-password',
};

/**
 * The message of a request; undefined: none. Whether an address is known is read when the message is sent, where nothing shows it to the
 * requester. `isOpen`: the address may sign up, or the invitation has not ended.
 */
function messageFor(request: Purpose, user: Row | undefined, isOpen: boolean): Purpose | undefined {
  if (request === 'reset') return user?.can_reset ? request : undefined;
  if (request !== 'sign-up' && request !== 'invitation') return request;
  if (user?.is_disabled) return undefined;
  if (user && request === 'sign-up') return 'known';
  return isOpen ? request : undefined;
}

const createMailMetrics = () => ({
  mail: counter('plinth_mail_total', 'Attempts to send a message, by how they ended.', ['outcome']),
});

/**
 * Sends the messages that the database contains. A message is removed when the server has accepted it; otherwise it is sent again later,
 * also by other processes and after a restart. An end of the process between the two sends it twice, with one Message-ID.
 */
export class Outbox {
  readonly metrics = createMailMetrics();
  readonly #timer: NodeJS.Timeout;
  readonly #pass = singleFlight(() => this.#sendAll());
  #isStopped = false;

  constructor(
    readonly db: Db,
    readonly log: Log,
    readonly send: Send,
    readonly settings: AccountsConfig,
    /** The address of links. */
    readonly origin: string,
  ) {
    this.#timer = setInterval(() => this.wake(), settings.mailPollMs).unref();
    this.wake();
  }

  /** Sends new messages soon. */
  wake(): void {
    this.#pass().catch((err: unknown) => this.log.warn({ err }, 'messages are not sent now'));
  }

  /** Ends when the messages in flight are sent. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#pass().catch(() => undefined);
  }

  async #sendAll(): Promise<void> {
    const { codesMax, mailRetrySeconds } = this.settings;
    while (!this.#isStopped) {
      await this.db.run(ACCOUNTS_SQL.write_notes, []);
      const rows = await this.db.run(ACCOUNTS_SQL.claim_mail, [mailRetrySeconds, AT_ONCE]);
      await Promise.all(rows.map((row) => this.#sendOne(row)));
      await this.db.run(ACCOUNTS_SQL.displace_codes, [codesMax]);
      if (rows.length < AT_ONCE) return;
    }
  }

  async #sendOne(row: Row): Promise<void> {
    const [id, recipient] = [String(row.id), String(row.recipient)];
    const kind = row.purpose as Purpose;
    try {
      const [user] = await this.db.run(ACCOUNTS_SQL.user_at, [recipient]);
      // A code that is not sent counts as well, so that the limit of an address does not show whether it is known.
      const code = isCodeKind(kind)
        ? await createCode(this.db.run, kind, id, user ? String(user.owner) : null)
        : '';
      const [invitation] =
        kind === 'invitation' ? await this.db.run(INVITATIONS_SQL.find_invitation, [String(row.about)]) : [];
      const [inviter, records] = [String(invitation?.inviter ?? ''), String(invitation?.title ?? '')];
      const isOpen =
        invitation !== undefined ||
        (kind === 'sign-up' && (await maySignUp(this.db.run, this.settings, recipient)));
      const purpose = messageFor(kind, user, isOpen);
      if (purpose) {
        await this.send(id, recipient, this.#messageOf(purpose, row, { code, inviter, records }));
        this.metrics.mail.of('sent').value++;
      }
    } catch (err) {
      const isRefused = err instanceof MailRefused;
      this.metrics.mail.of(isRefused ? 'refused' : 'retry').value++;
      this.log.warn({ err, mail: id }, isRefused ? 'a message is refused' : 'a message is sent again later');
      if (!isRefused) return;
    }
    await this.db.run(ACCOUNTS_SQL.end_mail, [id]);
  }

  #messageOf(
    purpose: Purpose,
    { language, return_to }: Row,
    values: Pick<MessageValues, 'code' | 'inviter' | 'records'>,
  ): Message {
    const code = isCodeKind(purpose) ? values.code : '';
    const back = return_to === null ? '' : `&return=${encodeURIComponent(String(return_to))}`;
    const link = `${this.origin}${PAGES[purpose]}${code && `?code=${code}${back}`}`;
    const minutes = isCodeKind(purpose) ? CODE_SECONDS[purpose] / 60 : 0;
    const template = messageText(this.settings.mailTemplates, purpose, language as Language);
    return messageOf(template, { ...values, site: new URL(this.origin).host, minutes, link, code });
  }
}

/** Whether messages of a purpose have a code. */
const isCodeKind = (purpose: string): purpose is CodeKind => Object.hasOwn(CODE_SECONDS, purpose);
