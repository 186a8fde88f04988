/** The setting by which the triggers that write events know the actor of all records of a statement; null: nobody is known. */
export const actorSetting = (actor: string | undefined): string | null =>
  actor === undefined ? null : `=${actor}`;

/** The setting for a statement that writes several records, each with an actor of its own. */
export function actorsSetting(
  writes: readonly { readonly actor: string | undefined; readonly stored: { readonly id: string } }[],
): string | null {
  const first = writes[0]?.actor;
  if (writes.every(({ actor }) => actor === first)) return actorSetting(first);
  const known = writes.filter(({ actor }) => actor !== undefined);
  return JSON.stringify(Object.fromEntries(known.map(({ stored, actor }) => [stored.id, actor])));
}
