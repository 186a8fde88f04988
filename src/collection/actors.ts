/** U+0000, which PostgreSQL cannot store, is left out of a subject. */
const stored = (actor: string): string => actor.replaceAll('\0', '');

/** The setting by which the triggers that write events know the actor of all records of a statement; null: the actor is unknown. */
export const actorSetting = (actor: string | undefined): string | null =>
  actor === undefined ? null : `=${stored(actor)}`;

/** The setting for a statement that writes several records, each with an actor of its own. */
export function actorsSetting(
  writes: readonly { readonly actor: string | undefined; readonly stored: { readonly id: string } }[],
): string | null {
  const first = writes[0]?.actor;
  if (writes.every(({ actor }) => actor === first)) return actorSetting(first);
  const known = writes.filter(({ actor }) => actor !== undefined);
  return JSON.stringify(Object.fromEntries(known.map((write) => [write.stored.id, stored(write.actor!)])));
}
