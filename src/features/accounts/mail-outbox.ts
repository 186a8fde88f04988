import { hash, randomBytes } from 'node:crypto';
import type { Db, Row } from '../../db/db.js';
import { counter } from '../../telemetry/instruments.js';
import type { Log } from '../../telemetry/log.js';
import { singleFlight } from '../../work/shared-runs.js';
import { ACCOUNTS_SQL } from './accounts-statements.js';
import { type Language, type Message, messageOf, type Purpose } from './mail-messages.js';
import { MailRefused, type Send } from './mail-transport.js';

/** How long a code in a message is valid. */
const CODE_S = 30 * 60;
/** Messages that are sent at a time. */
const AT_ONCE = 10;
const CODE_BYTES = 10;
/** Letters and digits that people do not confuse (Crockford). */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** The pages to which messages lead, by their purposes. */
const PAGES: Readonly<Record<Purpose, string>> = {
  reset: '/reset-password',
  changed: '/forgotten-password',
};

export interface OutboxOptions {
  /** The address of links. */
  readonly origin: string;
  readonly site: string;
  readonly pollMs: number;
  readonly retrySeconds: number;
  readonly textOf: (purpose: Purpose, language: Language) => string;
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
    readonly options: OutboxOptions,
  ) {
    this.#timer = setInterval(() => this.wake(), options.pollMs).unref();
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
    while (!this.#isStopped) {
      const rows = await this.db.run(ACCOUNTS_SQL.claim_mail, [this.options.retrySeconds, AT_ONCE]);
      await Promise.all(rows.map((row) => this.#sendOne(row)));
      if (rows.length < AT_ONCE) return;
    }
  }

  async #sendOne(row: Row): Promise<void> {
    const [id, recipient] = [String(row.id), String(row.recipient)];
    const code = row.purpose === 'reset' ? newCode() : '';
    try {
      if (code !== '') {
        const args = [codeHash(code), String(row.purpose), recipient, String(row.owner), CODE_S];
        await this.db.run(ACCOUNTS_SQL.create_code, args);
      }
      await this.send(id, recipient, this.#messageOf(row, code));
      this.metrics.mail.of('sent').value++;
    } catch (err) {
      const isRefused = err instanceof MailRefused;
      this.metrics.mail.of(isRefused ? 'refused' : 'retry').value++;
      this.log.warn({ err, mail: id }, isRefused ? 'a message is refused' : 'a message is sent again later');
      // The next attempt has a code of its own.
      if (code !== '') await this.db.run(ACCOUNTS_SQL.end_code, [codeHash(code)]);
      if (!isRefused) return;
    }
    await this.db.run(ACCOUNTS_SQL.end_mail, [id]);
  }

  #messageOf({ purpose, language }: Row, code: string): Message {
    const { origin, site, textOf } = this.options;
    const kind = purpose as Purpose;
    const link = `${origin}${PAGES[kind]}${code === '' ? '' : `?code=${code}`}`;
    return messageOf(textOf(kind, language as Language), { site, minutes: CODE_S / 60, link, code });
  }
}

/** 80 random bits in four groups of letters and digits. */
function newCode(): string {
  const bits = [...randomBytes(CODE_BYTES)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const letters = bits.match(/.{5}/g)!.map((five) => ALPHABET[Number.parseInt(five, 2)]);
  return letters.join('').match(/.{4}/g)!.join('-');
}

/** The SHA-256 of a code as a person may type it; base64. */
export function codeHash(code: string): string {
  const typed = code
    .toUpperCase()
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1')
    .replaceAll(/[^0-9A-Z]/g, '');
  return hash('sha256', `code ${typed}`, 'base64');
}
