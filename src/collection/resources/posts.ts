import type { Resource } from '../resource.js';

/** What a user wrote; deleted with the user. */
export const posts: Resource = {
  name: 'posts',
  singular: 'post',
  schema: {
    type: 'object',
    required: ['userId'],
    properties: { userId: { type: ['string', 'number'] } },
  },
  normalize: {},
  columns: { userId: 'user_id' },
  parent: { field: 'userId', collection: 'users' },
  children: [],
  list: 'array',
  direction: 'asc',
  sortable: {},
  absent: 'empty',
};
