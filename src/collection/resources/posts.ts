import { defineResource } from '../resource.js';
import { users } from './users.js';

/** Texts by a user; deleted with the user. */
export const posts = defineResource({
  name: 'posts',
  singular: 'post',
  schema: {
    type: 'object',
    required: ['userId'],
    properties: { userId: { type: ['string', 'number'] } },
  },
  columns: { userId: 'user_id' },
  parent: { field: 'userId', resource: users },
});
