import { scopeFault } from '../auth/known-scopes.js';
import { invalid } from '../errors/errors.js';
import type { Failure } from '../errors/problem.js';
import { isLoopbackAddress } from '../ip-address.js';
import type { Json } from '../json.js';
import { compileOnFirstUse } from '../validation/validation.js';
import { CLAIMS } from './accounts.js';
import { type ClientFields, DEVICE_GRANT, GRANT_TYPES, type GrantType } from './clients.js';

/** Short names of grant types, besides their own. */
const SHORT_NAMES: Readonly<Record<string, GrantType>> = { device_code: DEVICE_GRANT };

/** The JSON Schema of a new client. */
export const CLIENT_SCHEMA = {
  type: 'object' as const,
  required: ['name', 'grant_types'],
  additionalProperties: false,
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 100 },
    type: { type: 'string', enum: ['public', 'confidential'] },
    grant_types: {
      type: 'array',
      minItems: 1,
      maxItems: 4,
      uniqueItems: true,
      items: { type: 'string', enum: [...GRANT_TYPES, ...Object.keys(SHORT_NAMES)] },
    },
    redirect_uris: {
      type: 'array',
      maxItems: 10,
      uniqueItems: true,
      items: { type: 'string', maxLength: 2048 },
    },
    scopes: { type: 'array', maxItems: 50, uniqueItems: true, items: { type: 'string', maxLength: 100 } },
    token_format: { type: 'string', enum: ['jwt', 'opaque'] },
  },
};

const check = compileOnFirstUse({
  schema: CLIENT_SCHEMA,
  normalize: { name: ['trim', 'nfc'] },
});

interface Given {
  readonly name: string;
  readonly type?: 'public' | 'confidential';
  readonly grant_types: readonly string[];
  readonly redirect_uris?: readonly string[];
  readonly scopes?: readonly string[];
  readonly token_format?: 'jwt' | 'opaque';
}

/** Validates the fields of a new client; `known` are the scopes of the API. Throws 400 with every failure. */
export function readClientInput(input: Json | undefined, known: readonly string[]): ClientFields {
  const given = check(input).fields as unknown as Given;
  const { name, type = 'public', redirect_uris: uris = [], scopes = [], token_format = 'jwt' } = given;
  const grantTypes = given.grant_types.map((each) => SHORT_NAMES[each] ?? (each as GrantType));
  const confidential = type === 'confidential';
  const fail = (path: string, message: string, keyword = 'client'): Failure => ({ path, message, keyword });
  const failures: Failure[] = [
    ...uris.flatMap((uri, index) => {
      const fault = redirectFault(uri, confidential);
      return fault === undefined ? [] : [fail(`/redirect_uris/${index}`, fault, 'format')];
    }),
    ...scopes.flatMap((scope, index) => {
      const fault = scope in CLAIMS ? undefined : scopeFault(scope, known);
      return fault === undefined ? [] : [fail(`/scopes/${index}`, fault, 'enum')];
    }),
  ];
  const hasCode = grantTypes.includes('authorization_code');
  if (hasCode !== uris.length > 0)
    failures.push(fail('/redirect_uris', 'belong to the grant type authorization_code, which needs one'));
  if (grantTypes.includes('client_credentials') && !confidential)
    failures.push(fail('/type', 'must be confidential for client_credentials'));
  if (grantTypes.includes('refresh_token') && !hasCode && !grantTypes.includes(DEVICE_GRANT))
    failures.push(fail('/grant_types', 'must have authorization_code or device_code beside refresh_token'));
  if (failures.length > 0) throw invalid(failures);
  const native = !confidential && uris.length > 0 && uris.every((uri) => !uri.startsWith('https:'));
  return { name, confidential, grantTypes, redirectUris: uris, native, scopes, tokenFormat: token_format };
}

/** What is wrong with a redirect URI (RFC 8252 section 7, RFC 9700 section 2.1). */
function redirectFault(uri: string, confidential: boolean): string | undefined {
  if (!URL.canParse(uri)) return 'must be a URL';
  const { protocol, hostname, hash, username, password } = new URL(uri);
  if (hash !== '' || uri.includes('#')) return 'must have no fragment';
  if (username !== '' || password !== '') return 'must hold no credentials';
  if (protocol === 'https:') return undefined;
  const isLoopback = hostname === 'localhost' || isLoopbackAddress(hostname.replace(/^\[|\]$/g, ''));
  if (protocol === 'http:') return isLoopback ? undefined : 'must be https, or http of a loopback address';
  return protocol.includes('.') && !confidential
    ? undefined
    : 'must be https, http of a loopback address, or of a public client a scheme like com.example.app:';
}
