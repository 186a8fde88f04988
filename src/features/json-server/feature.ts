import type { Feature } from '../../feature.js';

/** Lists with the parameters and responses of json-server. */
export default {} satisfies Feature;
