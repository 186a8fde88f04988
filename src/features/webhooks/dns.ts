import { type LookupAddress, promises } from 'node:dns';

/** Returns every address of a name. Throws what node:dns throws. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

/** `timeout`: milliseconds for each attempt at a name server. */
const RESOLVER = { timeout: 2000, tries: 2 };

/**
 * Queries DNS, and the operating system, which reads the hosts file, only for names that DNS does not have: its lookups
 * occupy one of few threads, and a name server that does not respond would block all other names.
 */
export async function resolveName(name: string): Promise<readonly LookupAddress[]> {
  if (!name.includes('.')) return await fromSystem(name);
  const resolver = new promises.Resolver(RESOLVER);
  const results = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = results.flatMap((result, at) =>
    result.status === 'fulfilled'
      ? result.value.map((address) => ({ address, family: at === 0 ? 4 : 6 }))
      : [],
  );
  if (addresses.length > 0) return addresses;
  for (const result of results)
    if (result.status === 'rejected' && result.reason?.code === 'ETIMEOUT') throw result.reason;
  return await fromSystem(name);
}

const fromSystem = (name: string): Promise<LookupAddress[]> =>
  promises.lookup(name, { all: true, verbatim: true });
