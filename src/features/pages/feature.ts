import type { Feature } from '../../feature.js';

/** Pages for browsers. */
export default {} satisfies Feature;
