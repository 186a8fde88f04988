import t from 'tap';
import { createConcurrencyLimit } from '../../src/transport/concurrency-limit.js';

/** Room on a clock of the test's. `serve` lets `rate` requests a millisecond be answered for so long. */
function roomOf(most: number) {
  let ms = 0;
  const room = createConcurrencyLimit(most, () => ms);
  const wait = (time: number) => {
    ms += time;
  };
  const serve = (rate: number, time: number, inFlight: number) => {
    for (let at = 0; at < time; at += 10) {
      wait(10);
      for (let count = 0; count < rate * 10; count++) room.answered();
      room.hasRoom(inFlight, false);
    }
  };
  return { ...room, wait, serve };
}

t.test('as many as are configured, whatever they take', async (t) => {
  const { hasRoom, serve } = roomOf(1000);
  serve(1, 5000, 900);
  t.ok(hasRoom(999, false));
  t.notOk(hasRoom(1000, false));
});

t.test('over that, as many as are answered in 10 ms, until nobody was refused for a second', async (t) => {
  const { hasRoom, serve, wait, refused } = roomOf(1000);
  serve(10, 1000, 500);
  t.notOk(hasRoom(1000, false));
  t.ok(hasRoom(99, false));
  t.notOk(hasRoom(100, false));
  wait(999);
  t.notOk(hasRoom(100, false), 'which begins the second anew');
  wait(999);
  t.notOk(hasRoom(50, true), 'as does one that is late');
  wait(999);
  refused();
  wait(999);
  t.notOk(hasRoom(100, false), 'and one that a further queue has no room for');
  wait(1000);
  t.ok(hasRoom(999, false));
});

t.test('64 are never too many, and what is configured is never exceeded', async (t) => {
  const stuck = roomOf(1000);
  stuck.serve(0, 1000, 1000);
  t.ok(stuck.hasRoom(63, false));
  t.notOk(stuck.hasRoom(64, false));
  const small = roomOf(2);
  small.serve(100, 1000, 2);
  t.notOk(small.hasRoom(2, false));
  t.ok(small.hasRoom(1, false));
});

t.test('a pause does not make the rate small', async (t) => {
  const { hasRoom, serve, wait } = roomOf(1000);
  serve(10, 500, 500);
  wait(300);
  t.notOk(hasRoom(1000, false));
  t.ok(hasRoom(99, false));
});

t.test('what is late waits for room to spare while anybody is refused, and no longer', async (t) => {
  const { hasRoom, serve, wait, refused } = roomOf(1000);
  t.ok(hasRoom(0, true), 'nobody was refused');
  serve(10, 1000, 80);
  t.ok(hasRoom(80, true), 'nor was here');
  refused();
  t.ok(hasRoom(900, false), 'what a further queue has no room for is no reason to refuse others');
  t.notOk(hasRoom(10, true), 'more than 50 were in flight just now');
  serve(10, 300, 40);
  t.ok(hasRoom(10, true), 'half of what can be done is enough');
  serve(0.01, 1500, 2);
  refused();
  t.ok(hasRoom(2, true), 'who is nearly alone');
  serve(0.01, 300, 6);
  t.notOk(hasRoom(2, true));
  wait(1000);
  t.ok(hasRoom(500, true), 'a second after the last was refused');
});
