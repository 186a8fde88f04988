import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from './test.js';

/**
 * Lets time pass on purpose: the pace of a slow peer, or the pause of a client before it tries again. It is no way to wait
 * for a state, which is what `until` (until.ts) is for: a test asserts nothing that depends on the length of a pause. Each
 * use names its reason in a comment.
 */
export const pause = (ms: number): Promise<void> => sleep(ms);

/** Measures time for a figure that a test prints: the result gives the milliseconds so far. No assertion compares it. */
export function stopwatch(): () => number {
  const began = performance.now();
  return () => performance.now() - began;
}

const realNow = performance.now;

/** Whether the clock of `mockLimits` runs again. */
export const isClockReal = (): boolean => performance.now === realNow;

/**
 * Stops the clock of this process by which limits are measured: performance.now() changes only with `ms`. Timers go on. A
 * limit that such a test does not mean to reach is not reached, however long the test takes.
 */
export function mockLimits(t: Pick<Test, 'teardown'>): { ms: number } {
  const clock = { ms: realNow.call(performance) };
  performance.now = () => clock.ms;
  t.teardown(() => {
    performance.now = realNow;
  });
  return clock;
}

const realDateNow = Date.now;

/** Stops Date.now() of this process, which changes only with `ms`: the clock of a machine that is set. */
export function mockWallClock(t: Pick<Test, 'teardown'>): { ms: number } {
  const clock = { ms: realDateNow() };
  Date.now = () => clock.ms;
  t.teardown(() => {
    Date.now = realDateNow;
  });
  return clock;
}

/** Stops the clock of mockWallClock, and lets performance.now() go on and make each step, too: time passes at once. */
export function mockClock(t: Pick<Test, 'teardown'>): { ms: number } {
  const clock = mockWallClock(t);
  const began = clock.ms;
  performance.now = () => realNow.call(performance) + clock.ms - began;
  t.teardown(() => {
    performance.now = realNow;
  });
  return clock;
}
