import type { Feature } from '../../feature.js';

/** The calls of versions of the API that retire. */
export default {} satisfies Feature;
