import { type Config, type CoreConfig, FeatureSettings } from '../../config/config.js';
import type { Reader } from '../../config/env-reader.js';
import { isLoopback, parseJson, parseNames, parseSecureUrl, SECURE_URL } from '../../config/parsers.js';
import { isObject, type Json } from '../../json.js';

/** The first token of a subject makes a user, or is accepted for a user that exists. */
const MODES = ['create', 'known'] as const;

/** All people sign up, the ones with addresses of some domains, or the ones with an invitation. */
const SIGN_UPS = ['open', 'domains', 'invited'] as const;

export type AccountsConfig = Readonly<ReturnType<typeof readAccounts>>;

/** Another issuer, at which people can sign in to this service. */
export interface Upstream {
  /** The last segment of the address to which the issuer returns. */
  readonly name: string;
  /** The name on buttons. */
  readonly label: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

function readAccounts(reader: Reader) {
  const { optional, oneOf, read, text, path } = reader;
  return {
    upstreams: readUpstreams(reader),
    /** Undefined: the subject of a token is the id of a user. */
    usersFromIssuer: optional('USERS_FROM_ISSUER', MODES.join(' or '), (text) =>
      MODES.find((mode) => mode === text),
    ),
    /** The claims that fields of users have as their values, besides email and name. */
    userClaims: optional(
      'USER_CLAIMS',
      'a JSON object of fields of users, each with the name or path of a claim: {"department": "dept"}',
      parseClaims,
    ),
    /** The server that sends messages. */
    smtpUrl: optional(
      'SMTP_URL',
      'a URL with smtp or smtps: smtps://user:password@mail.example.org',
      parseSmtpUrl,
    ),
    /** The program that sends messages, and the secret by which it knows who requests that. */
    mailWebhook: optional('MAIL_WEBHOOK', SECURE_URL, parseSecureUrl),
    mailWebhookSecret: text('MAIL_WEBHOOK_SECRET'),
    /** The sender of messages. */
    mailFrom: text('MAIL_FROM'),
    /** `log`: messages are lines of the log, so that a developer needs no server. */
    mail: oneOf('MAIL', ['smtp', 'log']),
    /** A folder with texts that replace the ones of the service. */
    mailTemplates: path('MAIL_TEMPLATES'),
    /** Undefined: administrators create the users. */
    signUp: optional('SIGN_UP', SIGN_UPS.join(', '), (text) => SIGN_UPS.find((mode) => mode === text)),
    /** The domains of addresses with which people sign up. */
    signUpDomains: read<readonly string[]>(
      'SIGN_UP_DOMAINS',
      [],
      'domains: example.org,example.com',
      (text) => parseNames(text.toLowerCase()),
    ),
    /** The scopes of people who sign up, beyond `self`. */
    signUpScopes: read<readonly string[]>('SIGN_UP_SCOPES', [], 'scopes', parseNames),
    /** For all requests to an issuer of one step of a sign-in together. */
    upstreamTimeoutMs: 10_000,
    /** Responses of issuers in a minute that browsers bring from one address. */
    upstreamPerAddress: 60,
    /** Requests for messages in ten minutes from one address. */
    requestsPerAddress: 30,
    mailPollMs: 5000,
    /** Messages and codes of one purpose for addresses that may be unknown: the oldest end, so that no request is refused for the ones of others. */
    codesMax: 20_000,
    /** Before the second attempt; twice as long before each further one. */
    mailRetrySeconds: 30,
  };
}

/** An upstream for each `<NAME>` of the variables `UPSTREAM_<NAME>_ISSUER` and so on. */
function readUpstreams({ variables, optional, text, faults }: Reader): readonly Upstream[] {
  const names = Object.keys(variables).flatMap((name) => UPSTREAM.exec(name)?.[1] ?? []);
  return [...new Set(names)].sort().flatMap((name) => {
    const [issuer, clientId, clientSecret] = [
      optional(`UPSTREAM_${name}_ISSUER`, SECURE_URL, parseSecureUrl),
      text(`UPSTREAM_${name}_CLIENT_ID`),
      text(`UPSTREAM_${name}_CLIENT_SECRET`),
    ];
    const words = name.toLowerCase().split('_');
    const label = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(' ');
    if (issuer !== undefined && clientId !== undefined && clientSecret !== undefined)
      return [{ name: words.join('-'), label, issuer, clientId, clientSecret }];
    if ((issuer ?? clientId ?? clientSecret) !== undefined)
      faults.push(`UPSTREAM_${name} needs its three settings: _ISSUER, _CLIENT_ID and _CLIENT_SECRET`);
    return [];
  });
}

const UPSTREAM = /^UPSTREAM_([A-Z0-9]+(?:_[A-Z0-9]+)*)_(?:ISSUER|CLIENT_ID|CLIENT_SECRET)$/;

function parseClaims(text: string): ReadonlyMap<string, string> | undefined {
  const value = parseJson(text) as Json;
  const entries = isObject(value) ? Object.entries(value) : [['', undefined] as const];
  const isValid = (entry: readonly [string, unknown]): entry is [string, string] =>
    typeof entry[1] === 'string' && entry[1] !== '';
  return entries.every(isValid) ? new Map(entries) : undefined;
}

const parseSmtpUrl = (text: string): string | undefined =>
  /^smtps?:$/.test(URL.canParse(text) ? new URL(text).protocol : '') ? text : undefined;

/** Whether the service sends messages. */
export const hasMail = (own: AccountsConfig): boolean => mailWays(own).length > 0;

/** The settings that say how messages are sent, of which a service has one. */
export const mailWays = ({ smtpUrl, mailWebhook, mail }: AccountsConfig): readonly string[] => [
  ...(smtpUrl === undefined ? [] : ['SMTP_URL']),
  ...(mailWebhook === undefined ? [] : ['MAIL_WEBHOOK']),
  ...(mail === 'log' ? ['MAIL=log'] : []),
];

/** Whether people can sign in at other issuers. */
export const hasUpstreams = (config: Config): boolean => ACCOUNTS_SETTINGS.of(config).upstreams.length > 0;

/** The pages for people who cannot sign in, as far as there are any. */
export type AccountLinks = ReturnType<typeof accountLinks>;

/** `back`: the page from which a person comes. */
export function accountLinks(config: Config, back = '') {
  const own = ACCOUNTS_SETTINGS.of(config);
  const query = back && `?return=${encodeURIComponent(back)}`;
  return {
    ...(hasMail(own) && { forgotten: `/forgotten-password${query}` }),
    ...(own.signUp && { signUp: `/sign-up${query}` }),
  };
}

/** The address of links in messages, which no header field of a request decides. Undefined: it is not known. */
export const linkOrigin = ({ publicUrl, host, port }: CoreConfig): string | undefined =>
  publicUrl ?? (isLoopback(host) && port !== 0 ? `http://${host}:${port}` : undefined);

function faultsOf(own: AccountsConfig, core: CoreConfig): string[] {
  const { usersFromIssuer, userClaims, smtpUrl, mailFrom, mailWebhook, mailWebhookSecret, upstreams } = own;
  const { signUp, signUpDomains, signUpScopes } = own;
  const { auth, issuer } = core;
  const hasUpstream = upstreams.length > 0;
  const rules: [fault: string, isValid: boolean][] = [
    [
      'USERS_FROM_ISSUER needs AUTH=bearer and ISSUER, the issuer of the users, or UPSTREAM_<NAME>_ISSUER',
      usersFromIssuer === undefined || (auth.includes('bearer') && (hasUpstream || issuer !== undefined)),
    ],
    [
      'USER_CLAIMS needs USERS_FROM_ISSUER=create or known, or UPSTREAM_<NAME>_ISSUER',
      !userClaims || usersFromIssuer !== undefined || hasUpstream,
    ],
    ['SMTP_URL needs MAIL_FROM, the sender of messages', smtpUrl === undefined || mailFrom !== undefined],
    ['SMTP_URL, MAIL_WEBHOOK and MAIL=log exclude each other', mailWays(own).length < 2],
    [
      'MAIL_WEBHOOK and MAIL_WEBHOOK_SECRET need each other',
      (mailWebhook === undefined) === (mailWebhookSecret === undefined),
    ],
    [
      'SIGN_UP needs SMTP_URL, MAIL_WEBHOOK or MAIL=log, since a message confirms each address',
      !signUp || hasMail(own),
    ],
    [
      'SIGN_UP=domains and SIGN_UP_DOMAINS need each other',
      (signUp === 'domains') === signUpDomains.length > 0,
    ],
    ['SIGN_UP_SCOPES needs SIGN_UP', signUp !== undefined || signUpScopes.length === 0],
    [
      'SMTP_URL, MAIL_WEBHOOK and MAIL=log need PUBLIC_URL, the address of links in messages, unless HOST is a loopback address and PORT is not 0',
      !hasMail(own) || linkOrigin(core) !== undefined,
    ],
  ];
  return rules.filter(([, isValid]) => !isValid).map(([fault]) => fault);
}

export const ACCOUNTS_SETTINGS = new FeatureSettings({
  read: readAccounts,
  isOn: (own) => own.usersFromIssuer !== undefined || own.upstreams.length > 0 || hasMail(own),
  faults: faultsOf,
  paths: ['invitations'],
  typeNames: ['Acceptance', 'Accepted', 'Invitation', 'InvitationInput', 'InvitationList', 'Invitations'],
});
