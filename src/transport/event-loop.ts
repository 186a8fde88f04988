let end: Promise<void> | undefined;

/** Resolves at the end of this tick of the event loop; all callers within a tick share one promise. */
export function tickEnd(): Promise<void> {
  end ??= new Promise((resolve) => {
    setImmediate(() => {
      end = undefined;
      resolve();
    });
  });
  return end;
}
