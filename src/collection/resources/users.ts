import { defineResource } from '../resource.js';

/** People, with a unique email address. */
export const users = defineResource({
  name: 'users',
  singular: 'user',
  schema: {
    type: 'object',
    required: ['email', 'name'],
    properties: {
      email: { type: 'string', maxLength: 254, format: 'email' },
      name: { type: 'string', minLength: 1, maxLength: 100 },
      age: { type: 'integer', minimum: 0, maximum: 150 },
      password: { type: 'string', minLength: 8, maxLength: 256, writeOnly: true },
      current_password: { type: 'string', maxLength: 256, writeOnly: true },
      password_hash: { type: 'string', maxLength: 256, format: 'password-hash', writeOnly: true },
    },
  },
  importOnly: ['password_hash'],
  normalize: { email: ['trim', 'nfc', 'lower'], name: ['trim'], age: ['integer'] },
  columns: { email: 'email' },
  unique: { users_email_key: { field: 'email', code: 'EMAIL_TAKEN' } },
  owner: true,
  absent: 'simple',
});
