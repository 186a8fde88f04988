import type { Endpoint } from '../../api/endpoint.js';
import { badRequest } from '../../errors/request-errors.js';
import { ADDRESS, REMOVAL } from './account-changes.js';
import type { AccountServices } from './account-requests.js';
import { type Flow, responding } from './flow.js';
import { RESET } from './password-reset.js';
import { SIGN_UP } from './sign-up.js';

/** The endpoints of the pages of a flow. */
export const pagesOf = (flow: Flow): Endpoint<AccountServices>[] =>
  [flow.path, ...(flow.ask && flow.again !== flow.path ? [flow.again!] : [])].flatMap((path) =>
    (['GET', 'POST'] as const).map((method) => ({
      method,
      path,
      requires: 'nothing' as const,
      handle: responding(flow, path),
      run: () => {
        throw badRequest('A batch cannot contain requests about accounts.');
      },
    })),
  );

/** The pages and requests of people with a code, or without a way to sign in. */
export const ENDPOINTS = [RESET, ADDRESS, REMOVAL].flatMap(pagesOf);

/** With SIGN_UP. */
export const SIGN_UP_ENDPOINTS = pagesOf(SIGN_UP);
