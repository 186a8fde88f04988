import * as errors from 'oidc-provider/lib/helpers/errors.js';
import * as interactionPolicy from 'oidc-provider/lib/helpers/interaction_policy/index.js';
import { Provider } from 'oidc-provider/lib/provider.js';

/**
 * oidc-provider without its entry file, which does nothing else but print that Node 20 is unsupported. The tests of this
 * service run on Node 20.
 */
export { errors, interactionPolicy, Provider };
