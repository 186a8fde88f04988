import type { Resource } from '../resource.js';
import { items } from './items.js';
import { posts } from './posts.js';
import { users } from './users.js';

/** Every collection of the service. Routes, batches, events, imports and metrics follow from this list. */
export const RESOURCES: readonly Resource[] = [users, items, posts];
