import type { Db, Row } from '../../db/db.js';
import { counter } from '../../telemetry/instruments.js';
import type { Log } from '../../telemetry/log.js';
import { singleFlight } from '../../work/shared-runs.js';
import { ACCOUNTS_SQL, INVITATIONS_SQL } from './accounts-statements.js';
import { type CodeKind, type Language, MESSAGES, messageOf, type Purpose } from './mail-messages.js';
import { MailRefused, type Send } from './mail-transport.js';
import { createCode } from './mailed-code.js';
import { maySignUp } from './new-user.js';
import type { AccountsConfig } from './settings.js';

/** Messages that are sent at a time. */
const AT_ONCE = 10;

/**
 * Sends the messages that the database contains. A message is removed when the server has accepted it; otherwise it is sent again later,
 * also by other processes and after a restart. An end of the process between the two sends it twice, with one Message-ID.
 */
export class Outbox {
  readonly metrics = {
    mail: counter('plinth_mail_total', 'Attempts to send a message, by how they ended.', ['outcome']),
  };
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
    const { run } = this.db;
    try {
      const [user] = await run(ACCOUNTS_SQL.user_at, [recipient]);
      // A code that is not sent counts as well, so that the limit of an address does not show whether it is known.
      const code = hasCode(kind) ? await createCode(run, kind, id, user ? String(user.owner) : null) : '';
      const [invitation] =
        kind === 'invitation' ? await run(INVITATIONS_SQL.find_invitation, [String(row.about)]) : [];
      const purpose = await this.#purposeOf(kind, recipient, user, invitation);
      if (purpose) {
        await this.send(id, recipient, this.#messageOf(purpose, row, code, invitation));
        this.metrics.mail.of('sent').value++;
      }
    } catch (err) {
      const isRefused = err instanceof MailRefused;
      this.metrics.mail.of(isRefused ? 'refused' : 'retry').value++;
      this.log.warn({ err, mail: id }, isRefused ? 'a message is refused' : 'a message is sent again later');
      if (!isRefused) return;
    }
    await run(ACCOUNTS_SQL.end_mail, [id]);
  }

  /**
   * The message of a request; undefined: none. Whether an address is known is read when the message is sent, where nothing shows it to the
   * requester.
   */
  async #purposeOf(request: Purpose, recipient: string, user?: Row, invitation?: Row) {
    if (request === 'reset') return user?.can_reset ? request : undefined;
    if (request !== 'sign-up' && request !== 'invitation') return request;
    if (user?.is_disabled) return undefined;
    if (request === 'invitation') return invitation && request;
    if (user) return 'known';
    return (await maySignUp(this.db.run, this.settings, recipient)) ? request : undefined;
  }

  #messageOf(purpose: Purpose, { language, return_to }: Row, made: string, invitation?: Row) {
    const code = hasCode(purpose) ? made : '';
    const back = return_to === null ? '' : `&return=${encodeURIComponent(String(return_to))}`;
    const link = `${this.origin}${MESSAGES[purpose].page}${code && `?code=${code}${back}`}`;
    const minutes = hasCode(purpose) ? String(MESSAGES[purpose].seconds / 60) : '';
    const [inviter, records] = [String(invitation?.inviter ?? ''), String(invitation?.title ?? '')];
    const values = { site: new URL(this.origin).host, minutes, link, code, inviter, records };
    return messageOf(this.settings.mailTemplates, purpose, language as Language, values);
  }
}

const hasCode = (purpose: Purpose): purpose is CodeKind => 'seconds' in MESSAGES[purpose];
