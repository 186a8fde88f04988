import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';
import { disableStorages } from './runner/async-storages.js';
import t from './test.js';

// The worker remembers the storages that are used.
t.test('a storage that is disabled after a file works in the next one', async (t) => {
  const storages = [new AsyncLocalStorage<string>(), new AsyncLocalStorage<string>()];
  const [ran, entered] = storages as [AsyncLocalStorage<string>, AsyncLocalStorage<string>];
  for (const file of ['first', 'second']) {
    const seen = await ran.run(
      file,
      async (suffix: string) => {
        await setImmediate();
        return `${ran.getStore()}${suffix}`;
      },
      ' file',
    );
    t.equal(seen, `${file} file`);
    entered.enterWith(file);
    t.equal(entered.getStore(), file);
    disableStorages();
    t.same(
      storages.map((storage) => storage.getStore()),
      [undefined, undefined],
    );
  }
});
