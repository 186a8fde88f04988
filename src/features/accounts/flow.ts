import { invalidBody } from '../../errors/input-errors.js';
import { pageHeaders } from '../../formats/html.js';
import type { Reply } from '../../http/reply.js';
import type { HandledRequest } from '../../http/request.js';
import type { JsonObject } from '../../json.js';
import {
  type AccountServices,
  admittedInput,
  type Input,
  invalidReturn,
  programReply,
  returnAddress,
  shownFailures,
  textIn,
} from './account-requests.js';
import { type FlowPaths, flowPage, type Shown } from './flow-pages.js';
import { type Language, languageOf } from './mail-messages.js';
import { typedValues } from './new-user-form.js';

/** The use of a code. `values`: the other entries of the form, or members of the body. */
export interface Use {
  readonly services: AccountServices;
  readonly request: HandledRequest;
  readonly language: Language;
  readonly code: string;
  readonly values: JsonObject;
}

/** A change that a person makes by the code of a message. */
export interface Flow extends FlowPaths {
  /** Requests a message on that page, for anybody. The response is the same for each address. */
  readonly ask?: (
    services: AccountServices,
    input: Input,
    language: Language,
    returnTo: string | undefined,
  ) => Promise<void>;
  /** Reads the contents of the form with a code. Throws 403 for a code without a form. */
  readonly show?: (services: AccountServices, code: string, language: Language) => Promise<Shown>;
  /** Resolves to the response to a program, and to the end of the page. */
  readonly use: (use: Use) => Promise<{ reply: Reply; end: 'half' | 'done'; next?: string | undefined }>;
}

/** Responds to people and programs on a page of a flow. A link alone changes nothing, since programs open links, too. */
export const responding =
  (flow: Flow, path: string) =>
  async (services: AccountServices, request: HandledRequest): Promise<Reply> => {
    const { req } = request;
    const language = languageOf(req.headers['accept-language']);
    const input = req.method === 'POST' ? await admittedInput(services, request) : undefined;
    const inUrl = new URL(req.url!, 'http://localhost').searchParams;
    const back = await returnAddress(services, input ? input.values.return : inUrl.get('return'));
    const given = !input ? inUrl.get('code') : 'code' in input.values ? textIn(input.values, 'code') : null;
    if (given === null && path === flow.again) return requestMessage(flow, services, input, language, back);
    const code = given ?? '';
    let shown: Shown | undefined;
    let values: JsonObject = {};
    try {
      shown = flow.show ? await flow.show(services, code, language) : {};
      if (!input) return page(200, flowPage(flow, language, { code, shown, values, back }));
      const { code: _, return: _back, ...others } = input.values;
      values = input.isForm ? typedValues(others, shown.fields ?? []) : others;
      const { reply, ...end } = await flow.use({ services, request, language, code, values });
      services.outbox.wake();
      return input.isForm ? page(200, flowPage(flow, language, { ...end, back })) : reply;
    } catch (error) {
      if (input && !input.isForm) throw error;
      const failures = shownFailures(error);
      return page(input ? 422 : 403, flowPage(flow, language, { code, shown, values, back, failures }));
    }
  };

async function requestMessage(
  flow: Flow,
  services: AccountServices,
  input: Input | undefined,
  language: Language,
  back: string | undefined,
): Promise<Reply> {
  if (!input) return page(200, flowPage(flow, language, { end: 'ask', back }));
  try {
    if (!input.isForm) requireMembers(input.values, back);
    await flow.ask!(services, input, language, back);
  } catch (error) {
    if (!input.isForm) throw error;
    return page(422, flowPage(flow, language, { end: 'ask', back, failures: shownFailures(error) }));
  }
  services.outbox.wake();
  return input.isForm ? page(200, flowPage(flow, language, { end: 'sent', back })) : programReply(202, {});
}

/** Requires that nothing of a request is dropped in silence, such as a password, which comes with the code. Throws 400. */
function requireMembers(values: JsonObject, back: string | undefined): void {
  for (const name of Object.keys(values))
    if (name === 'return' && back === undefined) throw invalidReturn();
    else if (name !== 'email' && name !== 'return')
      throw invalidBody('must be left out here: it comes with the code', 'additionalProperties', `/${name}`);
}

const page = (status: number, body: string): Reply => ({ status, headers: pageHeaders(), body });
