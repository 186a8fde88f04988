let end: Promise<void> | undefined;

/** Resolves at the end of this turn of the event loop; one promise for all who ask in it. */
export function tickEnd(): Promise<void> {
  end ??= new Promise((resolve) => {
    setImmediate(() => {
      end = undefined;
      resolve();
    });
  });
  return end;
}
