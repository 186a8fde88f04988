import { storedPassword } from '../../collection/password-writes.js';
import { NO_PRECONDITIONS } from '../../collection/write-preconditions.js';
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
import { codeEnded } from './errors.js';
import { languageOf } from './mail-messages.js';
import { findCode, requestCode, useCode } from './mailed-code.js';
import { forgottenPage, pageReply, resetPage } from './password-pages.js';

/** Responds to requests for a message with a link: the response is the same for each address. Throws 413 and 429. */
export async function requestReset(services: AccountServices, request: HandledRequest): Promise<Reply> {
  const { req } = request;
  const language = languageOf(req.headers['accept-language']);
  if (req.method !== 'POST') return pageReply(200, forgottenPage(language, 'ask'));
  const input = await admittedInput(services, request);
  const { db, outbox } = services;
  const recipient = addressOf(input.text('email'));
  if (recipient !== undefined)
    await db.transaction((run) => requestCode(run, { kind: 'reset', recipient, language }));
  outbox.wake();
  return input.isForm ? pageReply(200, forgottenPage(language, 'sent')) : programReply(202, {});
}

/** Responds to requests that set a password by a code. Throws 400, 403 `CODE_ENDED`, 413, 429. */
export async function reset(services: AccountServices, request: HandledRequest): Promise<Reply> {
  const { req } = request;
  const language = languageOf(req.headers['accept-language']);
  if (req.method !== 'POST') return pageReply(200, resetPage(language, { code: codeInUrl(request) ?? '' }));
  const input = await admittedInput(services, request);
  const code = input.text('code');
  try {
    await setByCode(services, code, input.text('password'), language);
  } catch (error) {
    if (!input.isForm) throw error;
    const failures = shownReason(error);
    const reason = failures === 'ended' ? failures : { password: failures[0].message };
    return pageReply(422, resetPage(language, { code, reason }));
  }
  services.outbox.wake();
  return input.isForm
    ? pageReply(200, resetPage(language, { code: '', reason: 'done', signIn: services.signInPage }))
    : { status: 204, headers: ['Cache-Control', 'no-store'] };
}

/** In one transaction, so that a code is used if and only if the password is set. */
async function setByCode(services: AccountServices, code: string, password: string, language: string) {
  const { db } = services;
  const users = services.users.whole;
  const id = (await findCode(db, 'reset', code)).owner!;
  const record = await recordOf(users, id);
  const checked = users.check({ ...record, password }, 'request', { record, isPatch: true });
  const passwordHash = await storedPassword(checked);
  await db.transaction(async (run) => {
    await useCode(run, 'reset', code);
    await run(ACCOUNTS_SQL.unlink_user, [id]);
    const next = ({ record }: { record: typeof checked.fields }) => {
      const input = users.check(record, 'request', { record, isPatch: true });
      return { ...input, passwordHash };
    };
    await users.change(
      id,
      { preconditions: NO_PRECONDITIONS, isRead: true, next: (present) => next(present!) },
      run,
    );
    await run(ACCOUNTS_SQL.tell_changed, [nextIdentity().id, id, language, 'changed']);
  });
}

async function recordOf(users: Collection, id: string) {
  const stored = await users.get(id);
  if (typeof stored === 'string') throw codeEnded();
  return JSON.parse(stored.doc);
}
