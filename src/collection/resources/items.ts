import { defineResource } from '../resource.js';

/** Things with a name and a price, listed newest first. */
export const items = defineResource({
  name: 'items',
  singular: 'item',
  schema: {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 200 },
      price: { type: 'number' },
    },
  },
  normalize: { name: ['trim'] },
  columns: { name: 'name', price: 'price' },
  list: 'page',
  direction: 'desc',
  sortable: {
    name: { asc: '$.name collate "C" asc', desc: '$.name collate "C" desc' },
    price: { asc: '$.price asc nulls last', desc: '$.price desc nulls last' },
  },
  searchable: 'name',
});
