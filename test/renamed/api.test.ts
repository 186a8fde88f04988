import t from 'tap';
import { runRenamed } from '../support/run-renamed.js';

await runRenamed(t, 'api');
