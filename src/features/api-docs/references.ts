import type { Json, JsonObject } from '../../json.js';
import { turn } from '../../limits/turn.js';

/** The document without components to which nothing refers. */
export async function usedComponents(document: JsonObject): Promise<JsonObject> {
  const { components, ...rest } = document as {
    components: Record<string, JsonObject>;
    paths?: JsonObject;
  } & JsonObject;
  const used = new Set<string>();
  const { paths = {}, ...others } = rest;
  const pending: Json[] = [others, ...Object.values(paths)];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    for (const [, kind, name] of JSON.stringify(value).matchAll(/"#\/components\/(\w+)\/([\w.-]+)/g)) {
      const key = `${kind}/${name}`;
      const target = components[kind!]?.[name!];
      if (used.has(key) || target === undefined) continue;
      used.add(key);
      pending.push(target);
    }
    await turn();
  }
  const shown = Object.entries(components).map(([kind, entries]) => {
    const isAlwaysUsed = kind === 'securitySchemes';
    const named = Object.entries(entries).filter(([name]) => isAlwaysUsed || used.has(`${kind}/${name}`));
    return [kind, Object.fromEntries(named)] as const;
  });
  return { ...rest, components: Object.fromEntries(shown) };
}
