import { secretReply } from '../../actions/secret-reply.js';
import type { Run } from '../../db/db.js';
import { type Failure, Problem } from '../../errors/problem.js';
import { pageHeaders } from '../../formats/html.js';
import type { Reply } from '../../http/reply.js';
import type { HandledRequest } from '../../http/request.js';
import { type JsonObject, member } from '../../json.js';
import {
  type AccountServices,
  admittedInput,
  checkAddress,
  checkKnownAddress,
  invalidReturn,
  returnAddress,
} from './account-requests.js';
import { type FlowPages, type FlowState, flowPage, type Shown } from './flow-pages.js';
import { type Language, languageOf } from './mail-messages.js';
import { endCode, findCode, type MailedCode, requestCode } from './mailed-code.js';
import { typedValues } from './new-user-form.js';

/** The use of a code. */
export interface Use {
  readonly services: AccountServices;
  readonly language: Language;
  /** The user that sends the request, or has signed in in the browser. */
  readonly caller: string | undefined;
  /** The other entries of the form, or members of the body. */
  readonly values: JsonObject;
}

/** The response to a program, the next step of the page, and where the page leads in the end. */
interface Outcome {
  readonly reply: Reply;
  readonly step: 'sent' | 'half' | 'done';
  readonly next?: string | undefined;
}

/** A change that a person makes by the code of a message. */
export interface Flow extends FlowPages {
  /** With a text that asks for an address: throws 400 and 403 for an address that gets no message, whether or not a user has it. */
  readonly permit?: (services: AccountServices, email: string) => void;
  /** Reads the contents of the form with a code. Throws 403 for a code without a form. */
  readonly show?: (services: AccountServices, code: string) => Promise<Shown>;
  /** Prepares the change. The returned function makes the change in the transaction that ends the code. Both throw 400, 403 and 409. */
  readonly use: (use: Use, code: MailedCode) => Promise<(run: Run) => Promise<Outcome>>;
}

/** Uses a code in one transaction with what the code permits, so that neither happens without the other. */
export async function useCode(flow: Flow, use: Use, code: string): Promise<Outcome> {
  const { db } = use.services;
  const found = await findCode(db.run, flow.kind, code);
  const change = await flow.use(use, found);
  return db.transaction(async (run) => {
    await endCode(run, flow.kind, code, found.recipient);
    return change(run);
  });
}

/** Responds to people and programs on a page of a flow. A link alone changes nothing, since programs open links, too. */
export const responding =
  (flow: Flow, path: string) =>
  async (services: AccountServices, request: HandledRequest): Promise<Reply> => {
    const { headers, method, url } = request.req;
    const language = languageOf(headers['accept-language']);
    const input = method === 'POST' ? await admittedInput(services, request) : undefined;
    const given: JsonObject =
      input?.values ?? Object.fromEntries(new URL(url!, 'http://localhost').searchParams);
    const back = await returnAddress(services, member(given, 'return'));
    const { code: named, return: _, ...values } = given;
    const code = typeof named === 'string' ? named : '';
    const isRequest = named === undefined && path === flow.again;
    const entered = input ? values : {};
    let state: FlowState = { step: isRequest ? 'ask' : 'code', back, code, values: entered };
    try {
      if (!isRequest) state = { ...state, shown: flow.show ? await flow.show(services, code) : {} };
      if (!input) return page(200, flow, state);
      const { isForm } = input;
      const caller = (await services.session?.(headers.cookie))?.subject;
      const typed = isForm ? typedValues(values, state.shown?.fields ?? []) : values;
      const { reply, ...end } = isRequest
        ? await requestMessage(flow, services, given, language, back)
        : await useCode(flow, { services, language, caller, values: typed }, code);
      services.outbox.wake();
      return isForm ? page(200, flow, { ...end, back }) : reply;
    } catch (error) {
      if (input && !input.isForm) throw error;
      return page(input ? 422 : 403, flow, { ...state, failures: shownFailures(error) });
    }
  };

/** The response is the same for each address that the flow permits. */
async function requestMessage(
  flow: Flow,
  services: AccountServices,
  values: JsonObject,
  language: Language,
  returnTo: string | undefined,
): Promise<Outcome> {
  // A flow that permits addresses is for new ones.
  const { email: recipient } = (flow.permit ? checkAddress : checkKnownAddress)(values).fields;
  if (values.return !== undefined && returnTo === undefined) throw invalidReturn();
  flow.permit?.(services, recipient);
  await services.db.transaction((run) =>
    requestCode(run, { kind: flow.kind, recipient, language, returnTo }),
  );
  return { reply: secretReply(202, {}), step: 'sent' };
}

const page = (status: number, flow: Flow, state: FlowState): Reply => ({
  status,
  headers: pageHeaders(),
  body: flowPage(flow, state),
});

/** The failures that a form shows. Throws errors that no other entry prevents. */
function shownFailures(error: unknown): readonly Failure[] {
  if (!(error instanceof Problem) || error.status >= 429) throw error;
  const { details } = error.more;
  const isList = Array.isArray(details) && details.length > 0;
  return isList ? (details as Failure[]) : [{ path: '', message: error.message, keyword: error.code }];
}
