import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import type { AuthenticatorTransport } from '@simplewebauthn/server';
import type { Db } from '../../db/db.js';
import type { Auth } from '../../feature.js';
import { ISSUER_SQL } from './issuer-statements.js';
import type { PasskeyForm } from './pages/page-frame.js';
import { notePassword, seenPassword } from './present-request.js';
import { seal, unseal } from './sealed-text.js';

const LIFETIME_S = 300;
const MAX_PASSKEYS = 20;
const MAX_RESPONSE_CHARACTERS = 16_384;

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

  async creationForm(id: string, email: string): Promise<PasskeyForm> {
    const { generateRegistrationOptions } = await library();
    const own = await this.db.run(ISSUER_SQL.passkeys_of, [id]);
    const { challenge, token } = this.#challenge(`create\n${id}`);
    const options = await generateRegistrationOptions({
      rpName: this.issuer.hostname,
      rpID: this.issuer.hostname,
      userID: new Uint8Array(Buffer.from(id)),
      userName: email,
      challenge,
      attestationType: 'none',
      excludeCredentials: own.map((row) => ({ id: String(row.id) })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
    return { options: JSON.stringify(options), token };
  }

  /** `context`: the sign-in in which alone the response is valid. */
  async requestForm(context: string): Promise<PasskeyForm> {
    const { generateAuthenticationOptions } = await library();
    const { challenge, token } = this.#challenge(`get\n${context}`);
    const options = await generateAuthenticationOptions({
      rpID: this.issuer.hostname,
      challenge,
      userVerification: 'required',
    });
    return { options: JSON.stringify(options), token };
  }

  /**
   * Stores the passkey that a browser created for a user. False: the response is not valid, the user has too many, or the
   * password was reset since the request began.
   */
  async add(userId: string, response: string, token: string): Promise<boolean> {
    const challenge = await this.#challengeOf(`create\n${userId}`, token);
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
    const stored = [Buffer.from(publicKey).toString('base64url'), counter, JSON.stringify(transports)];
    const args = [id, userId, ...stored, MAX_PASSKEYS, seenPassword(userId) ?? null];
    return (await this.db.run(ISSUER_SQL.add_passkey, args)).length > 0;
  }

  /**
   * The user whose passkey a browser used, and its methods by RFC 8176; undefined: the response is not valid in this
   * sign-in. `second`: the user whose second factor it must be.
   */
  async signIn(
    context: string,
    form: URLSearchParams,
    second?: string,
  ): Promise<{ readonly userId: string; readonly amr: readonly string[] } | undefined> {
    const challenge = await this.#challengeOf(`get\n${context}`, form.get('token') ?? '');
    const parsed = parse(form.get('response') ?? '');
    if (challenge === undefined || typeof parsed?.id !== 'string') return undefined;
    const [row] = await this.db.run(ISSUER_SQL.find_passkey, [parsed.id, second ?? null]);
    // The authenticator stored the id of the user; passkeys without a list of credentials name it (WebAuthn section 7.2).
    const handle = Buffer.from(String(parsed.response?.userHandle ?? ''), 'base64url').toString();
    if (!row || handle !== row.owner) return undefined;
    notePassword(row.owner, row.version);
    const { verifyAuthenticationResponse } = await library();
    const verified = await verifyAuthenticationResponse({
      response: parsed as never,
      expectedChallenge: challenge,
      credential: {
        id: parsed.id,
        publicKey: new Uint8Array(Buffer.from(String(row.public_key), 'base64url')),
        counter: Number(row.counter),
        transports: JSON.parse(String(row.transports)) as AuthenticatorTransport[],
      },
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

  #expected() {
    const { origin, hostname } = this.issuer;
    return { expectedOrigin: origin, expectedRPID: hostname, requireUserVerification: true };
  }

  /** A challenge for one use, and the token of its form. */
  #challenge(use: string): { readonly challenge: Uint8Array<ArrayBuffer>; readonly token: string } {
    const challenge = randomBytes(32);
    const sealed = { challenge: challenge.toString('base64url') };
    const token = seal(this.secret, `passkey\n${use}`, sealed, LIFETIME_S);
    return { challenge: new Uint8Array(challenge), token };
  }

  /** The challenge of a token that is valid and was not used before. */
  async #challengeOf(use: string, token: string): Promise<string | undefined> {
    const sealed = unseal<{ readonly challenge: string }>(this.secret, `passkey\n${use}`, token);
    if (!sealed) return undefined;
    const first = (await this.checkReplay(`passkey\n${sealed.challenge}`, sealed.until)) === 'first';
    return first ? sealed.challenge : undefined;
  }
}

const library = () => import('@simplewebauthn/server');

/**
 * Whether a registration may contain certificates. None are requested, and to verify them the library would request the
 * addresses that they name.
 */
async function hasCertificates({ response }: Parsed) {
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

/** The response of a browser, of which nothing is verified yet. */
interface Parsed {
  readonly id?: unknown;
  readonly response?: { readonly attestationObject?: unknown; readonly userHandle?: unknown };
}

function parse(text: string): Parsed | undefined {
  if (text.length > MAX_RESPONSE_CHARACTERS) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
