import { statements } from '../../db/statements.js';
import type { PruneTask } from '../../feature.js';

/** The statements of the feature. */
// biome-ignore format: one name a line says no more
export const ISSUER_SQL = statements('features/issuer/issuer.sql', [
  'upsert_record', 'has_record', 'make_room', 'find_record', 'find_other', 'consume_record',
  'delete_record', 'delete_of_grant', 'revoke_family', 'revoke_grant', 'prune_records', 'stored_token',
  'active_grants', 'signing_keys', 'pages_secret', 'lock_keys', 'insert_key', 'encrypt_key', 'delete_old_keys',
  'find_client', 'create_client', 'list_clients', 'get_client', 'lock_client', 'change_client', 'delete_client',
  'account', 'consent', 'remember_consent', 'sessions_of_user', 'log_of_user', 'consents_of_user', 'revoke_client',
  'end_session', 'issuers_of_user', 'unlink_issuer', 'passkeys_of', 'find_passkey', 'add_passkey', 'use_passkey', 'remove_passkey',
  'find_totp', 'add_totp', 'use_totp', 'remove_totp', 'add_recovery_codes',
  'use_recovery_code', 'use_session', 'browser_session',
]);

export const ISSUER_PRUNES: readonly PruneTask[] = [{ text: ISSUER_SQL.prune_records, args: [] }];
