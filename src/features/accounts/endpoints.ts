import type { Endpoint } from '../../api/endpoint.js';
import { badRequest } from '../../errors/request-errors.js';
import { confirming } from './account-changes.js';
import type { AccountServices } from './account-requests.js';
import { requestReset, reset } from './password-reset.js';
import { signUp } from './sign-up.js';

/** The two endpoints of a page that one function handles. */
export const handled = <Services>(path: string, handle: NonNullable<Endpoint<Services>['handle']>) =>
  (['GET', 'POST'] as const).map(
    (method): Endpoint<Services> => ({
      method,
      path,
      requires: 'nothing',
      handle,
      run: () => {
        throw badRequest('A batch cannot contain requests about accounts.');
      },
    }),
  );

/** The pages and requests of people with a code, or without a way to sign in. */
export const ENDPOINTS: readonly Endpoint<AccountServices>[] = [
  ...handled('/forgotten-password', requestReset),
  ...handled('/reset-password', reset),
  ...handled('/confirm-address', confirming('address')),
  ...handled('/confirm-removal', confirming('removal')),
];

/** With SIGN_UP. */
export const SIGN_UP_ENDPOINTS: readonly Endpoint<AccountServices>[] = handled('/sign-up', signUp);
