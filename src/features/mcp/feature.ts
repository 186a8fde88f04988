import type { Feature } from '../../feature.js';

/** The collections for agents, by the Model Context Protocol. */
export default {} satisfies Feature;
