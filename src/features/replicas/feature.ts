import type { Feature } from '../../feature.js';

/** Reads from replicas of the database. */
export default {} satisfies Feature;
