import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import { Secret, TOTP } from 'otpauth';
import type { Page, Visitor } from './visitor.js';

/** User present and verified (WebAuthn section 6.1). */
const PRESENT = 0x05;
const CREDENTIAL_INCLUDED = 0x40;

type Attestation = ReadonlyMap<string, Uint8Array | readonly Uint8Array[] | number>;

/** An authenticator with one passkey, whose counter and attestation a test decides. */
export class Authenticator {
  readonly id = randomBytes(16).toString('base64url');
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  constructor(readonly origin: string) {}

  /** Adds the passkey by the form of an account, and returns the page that follows. */
  add(visitor: Visitor, page: Page, format = 'none', statement?: Attestation) {
    return submitPasskey(visitor, page, this.create(optionsOf(page), format, statement));
  }

  /** Signs in by the form of a page. */
  signIn(visitor: Visitor, page: Page, counter: number, userId: string | undefined): Promise<Page> {
    return submitPasskey(visitor, page, this.get(optionsOf(page), counter, userId));
  }

  /** The response to a page's options for a new passkey, as its form submits it. */
  create(options: string, format = 'none', attestation: Attestation = new Map()): string {
    const { challenge } = JSON.parse(options) as { challenge: string };
    const id = Buffer.from(this.id, 'base64url');
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    const data = Buffer.concat([
      this.#data(PRESENT | CREDENTIAL_INCLUDED, 0),
      Buffer.alloc(16),
      length,
      id,
      this.#coseKey(),
    ]);
    const object = new Map<string, unknown>([
      ['fmt', format],
      ['attStmt', attestation],
      ['authData', new Uint8Array(data)],
    ]);
    const encoded = Buffer.from(isoCBOR.encode(object as never));
    return this.#response({
      clientDataJSON: this.#clientData('webauthn.create', challenge).toString('base64url'),
      attestationObject: encoded.toString('base64url'),
      transports: ['internal'],
    });
  }

  /** The response to a page's options for a sign-in; `userId` is what the authenticator stored with the passkey. */
  get(options: string, counter: number, userId: string | undefined): string {
    const { challenge } = JSON.parse(options) as { challenge: string };
    const clientData = this.#clientData('webauthn.get', challenge);
    const data = this.#data(PRESENT, counter);
    const signed = Buffer.concat([data, createHash('sha256').update(clientData).digest()]);
    return this.#response({
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: sign('sha256', signed, this.#keys.privateKey).toString('base64url'),
      ...(userId === undefined ? {} : { userHandle: Buffer.from(userId).toString('base64url') }),
    });
  }

  #response(response: object): string {
    return JSON.stringify({
      id: this.id,
      rawId: this.id,
      type: 'public-key',
      clientExtensionResults: {},
      response,
    });
  }

  #clientData(type: string, challenge: string): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.origin, crossOrigin: false }));
  }

  #data(flags: number, counter: number): Buffer {
    const rest = Buffer.alloc(5);
    rest[0] = flags;
    rest.writeUInt32BE(counter, 1);
    return Buffer.concat([createHash('sha256').update(new URL(this.origin).hostname).digest(), rest]);
  }

  /** RFC 9052 section 7: an EC2 key of P-256 for ES256. */
  #coseKey(): Uint8Array {
    const { x, y } = this.#keys.publicKey.export({ format: 'jwk' });
    const bytes = (text: string | undefined) => new Uint8Array(Buffer.from(text!, 'base64url'));
    return isoCBOR.encode(
      new Map<number, number | Uint8Array>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, bytes(x)],
        [-3, bytes(y)],
      ]) as never,
    );
  }
}

/** The options that a page gives to the browser's WebAuthn API. */
export const optionsOf = ({ text }: Page): string =>
  /data-options="([^"]*)"/.exec(text)![1]!.replaceAll('&#34;', '"');

/** The token of the form for passkeys, beside which a page may have other forms. */
export const tokenOf = ({ text }: Page): string => /name="token" value="([^"]*)"/.exec(text)![1]!;

export const submitPasskey = (visitor: Visitor, page: Page, response: string): Promise<Page> =>
  visitor.submit(page, { token: tokenOf(page), action: 'passkey', response });

/** The code of an authenticator app at a time that is so many steps of 30 seconds from now. */
export const totpOf = (secret: string, steps = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 });

/** The secret that a page shows for an authenticator app. */
export const secretIn = ({ text }: Page): string => /name="secret" value="([A-Z2-7]{32})"/.exec(text)![1]!;
