import type { Test } from '../support/test.js';

/** Libuv's codes, as on Linux. */
export const SYSTEM = { EMFILE: -24, ENOBUFS: -105, ECONNRESET: -104, ENOMEM: -12 } as const;

/** Lets connections to a port fail with one of these codes; 0: they succeed. Node has no public interface for it. */
export function failingConnections(t: Test, port: number): (errno: number) => void {
  const { TCP } = (process as unknown as { binding(name: string): { TCP: { prototype: object } } }).binding(
    'tcp_wrap',
  );
  const prototype = TCP.prototype as { connect: (...args: unknown[]) => number };
  const { connect } = prototype;
  let errno = 0;
  prototype.connect = function (this: unknown, ...args: unknown[]) {
    return errno !== 0 && args[2] === port ? errno : connect.apply(this, args);
  };
  t.teardown(() => {
    prototype.connect = connect;
  });
  return (next) => {
    errno = next;
  };
}
