import type { Test } from '../support/test.js';
import { finish } from './programs.js';

/** Hosts of a network of their own: network namespaces on a bridge. */
export interface Network {
  /** The address of this process in the network. */
  readonly gateway: string;
  /** Adds a host. */
  add(): Host;
}

export interface Host {
  /** The name of its network namespace. */
  readonly name: string;
  readonly address: string;
  /** Cuts it off from all others, without notice. */
  disconnect(): void;
  reconnect(): void;
  /** Drops what it sends to an address. */
  block(address: string): void;
  unblock(address: string): void;
}

/** Kills all processes of a host. */
export function killAll(host: string): void {
  for (const pid of finish(['ip', 'netns', 'pids', host]).split('\n').filter(Boolean)) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch (error) {
      // The process ended by itself meanwhile.
      if ((error as { code?: unknown }).code !== 'ESRCH') throw error;
    }
  }
}

/** Makes a network. Removed when the test ends. */
export function testNetwork(t: Test): Network {
  const id = process.pid.toString(36);
  // Of the network 10.231.0.0/16, which processes share by their ids.
  const prefix = `10.231.${1 + (process.pid % 250)}`;
  const bridge = `plinth${id}`;
  const ip = (...args: string[]) => finish(['ip', ...args]);
  ip('link', 'add', bridge, 'type', 'bridge');
  t.teardown(() => ip('link', 'del', bridge));
  ip('addr', 'add', `${prefix}.1/24`, 'dev', bridge);
  ip('link', 'set', bridge, 'up');
  let count = 0;
  return {
    gateway: `${prefix}.1`,
    add: () => {
      const number = ++count;
      const name = `plinth-${id}-${number}`;
      const link = `pl${id}-${number}`;
      const address = `${prefix}.${10 + number}`;
      ip('netns', 'add', name);
      t.teardown(() => {
        killAll(name);
        ip('netns', 'del', name);
      });
      ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
      ip('link', 'set', link, 'master', bridge, 'up');
      for (const device of ['lo', 'eth0']) ip('-n', name, 'link', 'set', device, 'up');
      ip('-n', name, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
      return {
        name,
        address,
        disconnect: () => ip('link', 'set', link, 'down'),
        reconnect: () => ip('link', 'set', link, 'up'),
        block: (other) => ip('-n', name, 'route', 'add', 'blackhole', `${other}/32`),
        unblock: (other) => ip('-n', name, 'route', 'del', 'blackhole', `${other}/32`),
      };
    },
  };
}
