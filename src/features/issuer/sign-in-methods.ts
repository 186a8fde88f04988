/** The prompt of oidc-provider in which a user proves the second factor. */
export const SECOND_STEP = 'second_factor';

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
