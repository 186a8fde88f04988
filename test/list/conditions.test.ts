import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';
import { times } from '../support/thorough.js';
import { compareQueries } from './compared-queries.js';
import { DECLARATIONS, drawingOf, fill, TRACKER } from './tracker.js';

t.test('drawn filters select what the language says, in every form and order of a list', async (t) => {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto' });
  const draw = drawingOf(t);
  await compareQueries(
    t,
    { service, draw, schema: TRACKER, data: await fill(service, draw) },
    times(120, 300, 5000),
  );
});
