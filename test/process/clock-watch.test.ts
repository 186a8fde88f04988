import { ClockWatch } from '../../src/process/clock-watch.js';
import { createLog } from '../../src/telemetry/log.js';
import t from '../support/test.js';

t.test('steps of the clock are logged once each, drift and time that passes are not', async (t) => {
  const lines: string[] = [];
  const log = createLog('warn', { write: (line) => lines.push(line) });
  let [wall, steady] = [1_700_000_000_000, 1000];
  const watch = new ClockWatch(
    log,
    () => wall,
    () => steady,
  );
  const pass = (ms: number, stepMs = 0): number => {
    wall += ms + stepMs;
    steady += ms;
    watch.look();
    return lines.splice(0).filter((line) => line.includes(`"stepMs":${stepMs}`)).length;
  };
  const month = 30 * 86_400_000;
  t.equal(pass(10_000), 0);
  t.equal(pass(10_000, 4000), 0, 'within what time servers correct');
  t.equal(pass(10_000, month), 1);
  t.equal(pass(10_000), 0);
  t.equal(pass(10_000, -month), 1);
  t.equal(pass(3_600_000), 0, 'a busy process looks late');
});

t.test('a clock that differs from the database is logged, whatever the time of the response', async (t) => {
  const lines: string[] = [];
  const log = createLog('warn', { write: (line) => lines.push(line) });
  let wall = 1_700_000_000_000;
  const watch = new ClockWatch(log, () => wall);
  const compared = async (aheadMs: number, tookMs = 10): Promise<string | undefined> => {
    await watch.compare(async () => {
      const other = wall - aheadMs;
      wall += tookMs;
      return other;
    });
    return lines.shift();
  };
  t.equal(await compared(0), undefined);
  t.equal(await compared(4000), undefined, 'within what time servers correct');
  t.equal(await compared(-8000, 8000), undefined, 'a response that took as long');
  t.match(await compared(3_600_000), /"aheadMs":3600000.*ahead of the clock of the database/);
  t.match(await compared(-3_600_000), /"aheadMs":-35999\d\d.*behind the clock of the database/);
});
