import type { AuthRequest } from '../auth/scheme.js';
import { clientKey } from '../limits/rate-limit.js';
import { readBytes } from '../transport/request-body.js';
import type { RequestContext } from './context.js';

/** The parts of a request that may carry a credential. */
export function authRequestOf(context: RequestContext): AuthRequest {
  context.authRequest ??= context.options.readAuthRequest(context.req, () => readBytesOnce(context));
  return context.authRequest;
}

/** The client by which requests are counted: the principal, or the address without a credential. */
export const clientOf = (
  context: RequestContext,
  { scheme, subject } = context.observation.principal,
): string =>
  scheme === 'none' ? clientKey('address', authRequestOf(context).address) : clientKey('principal', subject);

/** The bytes of the body. They are read once: for the check of a signature, or for the action. */
export function readBytesOnce(context: RequestContext): Promise<Buffer> {
  const { req, res, options, observation } = context;
  const sender = () => ({ address: authRequestOf(context).address, proceed: () => proceed(context) });
  context.bytes ??= readBytes(req, res, options, sender, observation);
  return context.bytes;
}

/** Sends 100 Continue if the client waits for it. */
export function proceed({ res, expectation }: RequestContext): void {
  if (expectation === 'continue') res.writeContinue();
}
