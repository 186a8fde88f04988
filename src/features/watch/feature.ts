import type { Feature } from '../../feature.js';

/** A service for development that follows changes of its declarations: `plinth serve --watch`. */
export default {
  watch: async (config, watching) => (await import('./watch.js')).runWatching(config, watching),
} satisfies Feature;
