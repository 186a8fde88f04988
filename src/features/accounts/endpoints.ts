import type { Endpoint } from '../../api/endpoint.js';
import { badRequest } from '../../errors/request-errors.js';
import { type AccountServices, requestReset, reset } from './password-reset.js';

const handled = (path: string, handle: NonNullable<Endpoint<AccountServices>['handle']>) =>
  (['GET', 'POST'] as const).map(
    (method): Endpoint<AccountServices> => ({
      method,
      path,
      requires: 'nothing',
      handle,
      run: () => {
        throw badRequest('A batch cannot contain requests about accounts.');
      },
    }),
  );

/** The pages and requests of people who cannot sign in. */
export const ENDPOINTS: readonly Endpoint<AccountServices>[] = [
  ...handled('/forgotten-password', requestReset),
  ...handled('/reset-password', reset),
];
