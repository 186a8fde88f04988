import type { Feature } from '../../feature.js';

/** Processes that share the port. */
export default {} satisfies Feature;
