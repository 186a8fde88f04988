import { drawing } from '../list/tracker.js';
import { CITUS_URL } from '../support/citus.js';
import t from '../support/test.js';
import { seedOf, times } from '../support/thorough.js';
import { drawRules } from './drawn-rules.js';
import { callingToCreate, feeding } from './feeds.js';
import { fillingToChange, fillingToCreate, fillingToDelete } from './forms.js';
import { remembering } from './histories.js';
import { calling, grouping, listing, paging, readingTogether } from './lists.js';
import { creatingMany } from './many.js';
import { getting, type Surface } from './reads.js';
import { callingToChange, callingToDelete } from './tools.js';
import { World } from './world.js';
import { batching, bulk, changing, creating, creatingAs, deleting, upserting } from './writes.js';

/** The surfaces that Citus refuses: ids of clients, and histories. */
const NOT_ON_CITUS: readonly Surface[] = [upserting, creatingAs, remembering];
const SURFACES: readonly Surface[] = [
  ...[getting, listing, listing, paging, readingTogether, grouping, calling],
  ...[creating, creatingMany, changing, changing, deleting, bulk, upserting, creatingAs, batching],
  ...[feeding, remembering],
  ...[callingToCreate, callingToChange, callingToDelete],
  ...[fillingToCreate, fillingToChange, fillingToDelete],
];

t.test('what callers read and write is what the rules say, on every surface', async (t) => {
  const seed = seedOf(t);
  const draw = drawing(seed);
  let requests = 0;
  for (let worlds = times(2, 3, 60); worlds > 0; worlds--) {
    const rules = drawRules(draw);
    const world = await World.open(t, rules, draw);
    for (let n = times(150, 240, 340); n > 0 && t.passing(); n--) {
      await draw.pick(SURFACES.filter((each) => CITUS_URL === '' || !NOT_ON_CITUS.includes(each)))(
        world,
        draw.pick(world.callers),
      );
      await world.replenish();
    }
    requests += world.requests;
    if (!t.passing()) {
      t.comment(JSON.stringify(rules));
      break;
    }
    await world.service.stop();
  }
  t.comment(`${requests} requests`);
});
