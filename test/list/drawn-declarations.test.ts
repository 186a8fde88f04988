import type { JsonObject } from '../../src/json.js';
import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';
import { times } from '../support/thorough.js';
import { compareQueries } from './compared-queries.js';
import { drawSchema, fillDrawn } from './drawn-schema.js';
import { drawingOf } from './tracker.js';

t.test('drawn filters of drawn declarations select what the language says', async (t) => {
  for (let n = times(2, 4, 10); n > 0; n--) {
    const draw = drawingOf(t);
    const schema = drawSchema(draw);
    const service = await testService(t, {
      COLLECTIONS: declare(t, schema.declarations as JsonObject),
      MIGRATE: 'auto',
    });
    const data = await fillDrawn(service, draw, schema);
    await compareQueries(t, { service, draw, schema, data }, times(60, 100, 500));
  }
});
