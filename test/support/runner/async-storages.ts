import { AsyncLocalStorage } from 'node:async_hooks';

const used = new Set<AsyncLocalStorage<unknown>>();

/**
 * Remembers each storage that is used from now on. In Node 20 and 22, a storage slows every promise of its process from its
 * first use on, also in files that use none.
 */
export function rememberStorages(): void {
  const { prototype } = AsyncLocalStorage<unknown>;
  const { run, enterWith } = prototype;
  prototype.run = function (this: AsyncLocalStorage<unknown>, ...given: unknown[]): never {
    used.add(this);
    return Reflect.apply(run, this, given) as never;
  };
  prototype.enterWith = function (store) {
    used.add(this);
    Reflect.apply(enterWith, this, [store]);
  };
}

/** Disables the storages that are in use. A storage is in use again as soon as it runs something. */
export function disableStorages(): void {
  for (const storage of used) storage.disable();
  used.clear();
}
