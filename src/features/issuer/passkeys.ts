import { createHmac, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import type { AuthenticatorTransport, WebAuthnCredential } from '@simplewebauthn/server';
import { isEqual } from '../../auth/cookies.js';
import type { Db, Row } from '../../db/db.js';
import type { Auth } from '../../feature.js';
import { ISSUER_SQL } from './issuer-statements.js';
import type { PasskeyForm } from './pages/page-frame.js';
import { notePassword, seenPassword } from './present-request.js';

const LIFETIME_S = 300;
const MAX_PASSKEYS = 20;
const MAX_RESPONSE_CHARACTERS = 16_384;

interface PasskeyUser {
  readonly id: string;
  readonly email: string;
}

/** Registers and verifies passkeys (WebAuthn level 3). The package is loaded when the first page offers one. */
export class Passkeys {
  constructor(
    readonly db: Db,
    readonly issuer: URL,
    readonly secret: string,
    readonly checkReplay: Auth['checkReplay'],
  ) {}

  /** The WebAuthn API is not available at an IP address, or without TLS except on localhost. */
  get isAvailable(): boolean {
    const { hostname, protocol } = this.issuer;
    return (
      (protocol === 'https:' || hostname === 'localhost') && isIP(hostname.replace(/^\[|\]$/g, '')) === 0
    );
  }

  async creationForm({ id, email }: PasskeyUser): Promise<PasskeyForm> {
    const { generateRegistrationOptions } = await library();
    const challenge = randomBytes(32);
    const options = await generateRegistrationOptions({
      rpName: this.issuer.hostname,
      rpID: this.issuer.hostname,
      userID: new Uint8Array(Buffer.from(id)),
      userName: email,
      challenge: new Uint8Array(challenge),
      attestationType: 'none',
      excludeCredentials: (await this.#rowsOf(id)).map((row) => ({ id: String(row.id) })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
    return { options: JSON.stringify(options), token: this.#tokenOf('create', challenge, id) };
  }

  /** `interaction`: the sign-in in which alone the response is valid. */
  async requestForm(interaction: string): Promise<PasskeyForm> {
    const { generateAuthenticationOptions } = await library();
    const challenge = randomBytes(32);
    const options = await generateAuthenticationOptions({
      rpID: this.issuer.hostname,
      challenge: new Uint8Array(challenge),
      userVerification: 'required',
    });
    return { options: JSON.stringify(options), token: this.#tokenOf('get', challenge, interaction) };
  }

  /**
   * Stores the passkey that a browser created for a user. False: the response is not valid, the user has too many, or the
   * password was reset since the request began.
   */
  async add(userId: string, response: string, token: string): Promise<boolean> {
    const challenge = await this.#challengeOf('create', token, userId);
    const parsed = parse(response);
    if (challenge === undefined || parsed === undefined) return false;
    if (await hasCertificates(parsed)) return false;
    const { verifyRegistrationResponse } = await library();
    const verified = await verifyRegistrationResponse({
      response: parsed as never,
      expectedChallenge: challenge,
      ...this.#expected(),
    }).catch(() => undefined);
    if (!verified?.verified) return false;
    const { id, publicKey, counter, transports = [] } = verified.registrationInfo.credential;
    const key = Buffer.from(publicKey).toString('base64url');
    const args = [
      id,
      userId,
      key,
      counter,
      JSON.stringify(transports),
      MAX_PASSKEYS,
      seenPassword(userId) ?? null,
    ];
    return (await this.db.run(ISSUER_SQL.add_passkey, args)).length > 0;
  }

  /**
   * The user whose passkey a browser used, and its methods by RFC 8176; undefined: the response is not valid in this
   * interaction. `second`: the user whose second factor it must be.
   */
  async signIn(
    interaction: string,
    form: URLSearchParams,
    second?: string,
  ): Promise<{ readonly userId: string; readonly amr: readonly string[] } | undefined> {
    const challenge = await this.#challengeOf('get', form.get('token') ?? '', interaction);
    const parsed = parse(form.get('response') ?? '');
    if (challenge === undefined || typeof parsed?.id !== 'string') return undefined;
    const [row] = await this.db.run(ISSUER_SQL.find_passkey, [parsed.id, second ?? null]);
    if (!row || userHandleOf(parsed) !== row.owner) return undefined;
    notePassword(row.owner, row.version);
    const { verifyAuthenticationResponse } = await library();
    const verified = await verifyAuthenticationResponse({
      response: parsed as never,
      expectedChallenge: challenge,
      credential: credentialOf(row),
      ...this.#expected(),
    }).catch(() => undefined);
    if (!verified?.verified) return undefined;
    const { newCounter, credentialDeviceType } = verified.authenticationInfo;
    const used = await this.db.run(ISSUER_SQL.use_passkey, [parsed.id, newCounter]);
    if (used.length === 0) return undefined;
    // A passkey of several devices is no hardware key. Possession and the PIN or biometrics are two factors.
    const key = credentialDeviceType === 'singleDevice' ? 'hwk' : 'swk';
    return { userId: String(row.owner), amr: [key, 'user', 'mfa'] };
  }

  #rowsOf(userId: string): Promise<Row[]> {
    return this.db.run(ISSUER_SQL.passkeys_of, [userId]);
  }

  #expected() {
    const { origin, hostname } = this.issuer;
    return { expectedOrigin: origin, expectedRPID: hostname, requireUserVerification: true };
  }

  /** `context`: the user or the interaction for which the challenge is. */
  #tokenOf(use: string, challenge: Buffer, context: string): string {
    const text = challenge.toString('base64url');
    const until = Math.floor(Date.now() / 1000) + LIFETIME_S;
    return `${text}.${until}.${this.#macOf(use, text, until, context)}`;
  }

  /** The challenge of a token that is valid and was not used before. */
  async #challengeOf(use: string, token: string, context: string): Promise<string | undefined> {
    const [, challenge = '', until = '', mac = ''] = /^([\w-]+)\.(\d{1,12})\.([\w-]+)$/.exec(token) ?? [];
    if (!isEqual(mac, this.#macOf(use, challenge, Number(until), context))) return undefined;
    if (Number(until) < Date.now() / 1000) return undefined;
    const first = (await this.checkReplay(`passkey\n${challenge}`, Number(until))) === 'first';
    return first ? challenge : undefined;
  }

  #macOf(use: string, challenge: string, until: number, context: string): string {
    return formToken(this.secret, `passkey\n${use}\n${challenge}\n${until}\n${context}`);
  }
}

/** A token that only this service can make, of a form or a challenge. */
export const formToken = (secret: string, text: string): string =>
  createHmac('sha256', secret).update(text).digest('base64url');

const library = () => import('@simplewebauthn/server');

/**
 * Whether a registration may contain certificates. None are requested, and to verify them the library would request the
 * addresses that they name.
 */
async function hasCertificates({
  response,
}: {
  readonly response?: { readonly attestationObject?: unknown };
}) {
  const { decodeAttestationObject, isoBase64URL } = await import('@simplewebauthn/server/helpers');
  try {
    const bytes = isoBase64URL.toBuffer(String(response?.attestationObject));
    const attestation = decodeAttestationObject(bytes);
    const format = attestation.get('fmt');
    return format !== 'none' && (format !== 'packed' || attestation.get('attStmt').get('x5c') !== undefined);
  } catch {
    // Not an attestation, so the library will refuse it.
    return false;
  }
}

function parse(text: string): { readonly id?: unknown; readonly response?: object } | undefined {
  if (text.length > MAX_RESPONSE_CHARACTERS) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The id of the user that the authenticator stored; passkeys without a list of credentials name it (WebAuthn section 7.2). */
function userHandleOf({ response }: { readonly response?: object }): string | undefined {
  const { userHandle } = (response ?? {}) as { readonly userHandle?: unknown };
  return typeof userHandle === 'string' ? Buffer.from(userHandle, 'base64url').toString() : undefined;
}

function credentialOf({ id, public_key: key, counter, transports }: Row): WebAuthnCredential {
  return {
    id: String(id),
    publicKey: new Uint8Array(Buffer.from(String(key), 'base64url')),
    counter: Number(counter),
    transports: JSON.parse(String(transports)) as AuthenticatorTransport[],
  };
}
