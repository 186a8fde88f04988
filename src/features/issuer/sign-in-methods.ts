/** The prompt of oidc-provider in which a user proves the second factor. */
export const SECOND_STEP = 'second_factor';

/** The classes of sign-ins, which an application can require by `acr_values` (RFC 9470). */
export const ACRS = ['1', '2'];

/** How a user has signed in: methods (RFC 8176), and their class, which is `1` for one factor and `2` for two. */
export interface SignInMethods {
  readonly amr: string[];
  readonly acr: string;
}

export const signedInBy = (...amr: readonly string[]): SignInMethods => ({
  amr: [...new Set(amr)],
  acr: hasTwoFactors(amr) ? '2' : '1',
});

export const hasTwoFactors = (amr: readonly string[] | undefined): boolean => amr?.includes('mfa') === true;

/** The version of a user's password, from a row; undefined: the user has none. */
export const passwordVersionOf = ({ version }: Readonly<Record<string, unknown>>): number | undefined =>
  typeof version === 'number' ? version : undefined;
