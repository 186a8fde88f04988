import { statements } from '../../db/statements.js';
import type { PruneTask } from '../../feature.js';

/** The statements of the feature. */
// biome-ignore format: one name a line says no more
export const ACCOUNTS_SQL = statements('features/accounts/accounts.sql', [
  'linked_user', 'link_user', 'link_signed_in', 'link_values', 'user_with_email', 'lock_recipient', 'request_code', 'displace_codes', 'is_origin_of_client', 'user_at',
  'write_notes', 'note_language', 'claim_mail', 'end_mail', 'mail_state', 'create_code', 'find_code', 'end_code', 'prune_mail', 'prune_codes',
  'unlink_user', 'request_address', 'requested_address', 'confirm_address', 'end_address_change', 'left_address',
]);

/** The statements of invitations. */
// biome-ignore format: one name a line says no more
export const INVITATIONS_SQL = statements('features/accounts/invitations.sql', [
  'inviter', 'lock_inviter', 'invite', 'invitations', 'withdraw', 'find_invitation', 'is_invited', 'accept', 'end_others', 'prune_invitations',
]);

/** Codes and invitations that have expired, and messages that could not be sent for a day. */
export const ACCOUNTS_PRUNES: readonly PruneTask[] = [
  { text: ACCOUNTS_SQL.prune_codes, args: [] },
  { text: ACCOUNTS_SQL.prune_mail, args: [] },
  { text: INVITATIONS_SQL.prune_invitations, args: [] },
];
