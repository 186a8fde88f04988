import { NO_PRECONDITIONS } from '../../collection/write-preconditions.js';
import type { Db, Run } from '../../db/db.js';
import { invalidBody } from '../../errors/input-errors.js';
import type { Collection } from '../../feature.js';
import type { Reply } from '../../http/reply.js';
import type { HandledRequest } from '../../http/request.js';
import { nextIdentity } from '../../uuid.js';
import {
  type AccountServices,
  addressOf,
  admittedInput,
  codeInUrl,
  programReply,
  shownReason,
} from './account-requests.js';
import { ACCOUNTS_SQL } from './accounts-statements.js';
import { type ChangeKind, type ChangeState, confirmationPage } from './change-pages.js';
import { codeEnded } from './errors.js';
import { type Language, languageOf } from './mail-messages.js';
import { codeHash, requestCode, useCode } from './mailed-code.js';
import { pageReply } from './password-pages.js';
import { principalOf, requireAddress } from './sign-up.js';

/** The user of an account page, with its present address. */
interface Requester {
  readonly id: string;
  readonly email: string;
}

/** Stores the messages to the present address and to the new one, each with a code: both are needed. Throws 400 and 429. */
export async function requestAddress(
  db: Db,
  users: Collection,
  { id, email }: Requester,
  given: string,
  acceptLanguage: string | undefined,
): Promise<void> {
  const address = addressOf(given) ?? '';
  const language = languageOf(acceptLanguage);
  if (address === email) throw invalidBody('must be another address', 'const', '/email');
  requireAddress(users, address);
  const about = nextIdentity().id;
  await db.transaction(async (run) => {
    // All transactions lock the addresses in one order, and the request after them, as the use of a code does.
    for (const recipient of [address, email].sort())
      await requestCode(run, { kind: 'address', recipient, language, about });
    await run(ACCOUNTS_SQL.request_address, [about, id, address]);
  });
}

/** Stores the message with the code that deletes an account. Throws 429. */
export const requestRemoval = (
  db: Db,
  { email }: Requester,
  acceptLanguage: string | undefined,
): Promise<void> =>
  db.transaction((run) =>
    requestCode(run, { kind: 'removal', recipient: email, language: languageOf(acceptLanguage) }),
  );

/** Responds to the page of a change, and to the code that confirms it. Throws 403 `CODE_ENDED`, 409, 413, 429. */
export const confirming =
  (kind: ChangeKind) =>
  async (services: AccountServices, request: HandledRequest): Promise<Reply> => {
    const { req } = request;
    const language = languageOf(req.headers['accept-language']);
    const page = (status: number, state: ChangeState) =>
      pageReply(status, confirmationPage(language, kind, state));
    if (req.method !== 'POST') {
      const code = codeInUrl(request) ?? '';
      return page(200, { code, address: await requestedAddress(services, code) });
    }
    const input = await admittedInput(services, request);
    const code = input.text('code');
    try {
      const isDone = await services.db.transaction((run) => STEPS[kind](services, run, code, language));
      services.outbox.wake();
      return input.isForm
        ? page(200, { code: '', reason: isDone ? 'done' : 'half' })
        : programReply(200, { confirmed: isDone ? 'all' : 'one' });
    } catch (error) {
      if (!input.isForm) throw error;
      const reason = shownReason(error);
      return page(422, { code, reason: reason === 'ended' ? reason : { fault: reason[0].message } });
    }
  };

/** The new address that a code confirms; undefined: the code has ended, or is for another change. */
async function requestedAddress({ db }: AccountServices, code: string) {
  const [row] = await db.run(ACCOUNTS_SQL.requested_address, [codeHash(code)]);
  return row && String(row.email);
}

type Step = (services: AccountServices, run: Run, code: string, language: Language) => Promise<boolean>;

/** The use of a code, in a transaction. Resolves to whether the account has changed. The access rules of users decide as for requests. */
const STEPS: Readonly<Record<ChangeKind, Step>> = {
  address: async ({ users }, run, code, language) => {
    const { recipient, about } = await useCode(run, 'address', code);
    const [row] = await run(ACCOUNTS_SQL.confirm_address, [about!, recipient]);
    if (!row) throw codeEnded();
    if (row.is_confirmed !== true) return false;
    const [id, email] = [String(row.owner), String(row.email)];
    await run(ACCOUNTS_SQL.tell_changed, [nextIdentity().id, id, language, 'moved']);
    await run(ACCOUNTS_SQL.end_address_change, [about!]);
    const own = users.as({ principal: principalOf(id, []) });
    const next = ({ record }: { record: ReturnType<typeof own.check>['fields'] }) =>
      own.check({ ...record, email }, 'request', { record, isPatch: true });
    const change = { preconditions: NO_PRECONDITIONS, isRead: true, actor: id };
    await own.change(id, { ...change, next: (present) => next(present!) }, run);
    return true;
  },
  removal: async ({ users }, run, code) => {
    const { owner } = await useCode(run, 'removal', code);
    await users.as({ principal: principalOf(owner!, []) }).remove(owner!, NO_PRECONDITIONS, run, owner);
    return true;
  },
};
