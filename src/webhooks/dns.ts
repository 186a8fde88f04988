import { type LookupAddress, lookup, promises } from 'node:dns';

/** Gives every address of a name. Throws what node:dns does. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

/** For each try of a name server, in milliseconds, and how many tries. */
const RESOLVER = { timeout: 2000, tries: 2 };

/**
 * Asks DNS, and only for what DNS does not know the operating system, which reads the hosts file: its threads are
 * few, and a name server that does not answer would hold up every other name.
 */
export async function resolveName(name: string): Promise<readonly LookupAddress[]> {
  if (!name.includes('.')) return await fromSystem(name);
  const resolver = new promises.Resolver(RESOLVER);
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found = [
    ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 })) : []),
    ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 })) : []),
  ];
  if (found.length > 0) return found;
  const late = [four, six].find(({ status, reason }: { status: string; reason?: { code?: string } }) =>
    status === 'rejected' ? reason?.code === 'ETIMEOUT' : false,
  );
  if (late) throw (late as PromiseRejectedResult).reason;
  return await fromSystem(name);
}

function fromSystem(name: string): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(name, { all: true, verbatim: true }, (error, addresses) =>
      error ? reject(error) : resolve(addresses),
    );
  });
}
