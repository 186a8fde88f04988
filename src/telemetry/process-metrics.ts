import { readdirSync } from 'node:fs';
import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import type { Aggregate, FamilyValues } from './exposition.js';
import { histogram } from './instruments.js';

const GC_BOUNDS = [0.001, 0.01, 0.1, 1, 2, 5];
const GC_KINDS = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
]);

/** Begins to measure this process. Each call of the returned function gives its metrics, those of the event loop since the call before. */
export function openProcessMetrics(): () => FamilyValues[] {
  const delay = monitorEventLoopDelay();
  delay.enable();
  const gc = histogram('nodejs_gc_duration_seconds', 'Time of garbage collections.', ['kind'], GC_BOUNDS);
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { kind = 0 } = (entry as { readonly detail?: { readonly kind?: number } }).detail ?? {};
      gc.of(GC_KINDS.get(kind) ?? 'other').observe(entry.duration / 1000);
    }
  }).observe({ entryTypes: ['gc'] });

  function lag(): FamilyValues[] {
    const of = (name: string, nanoseconds: number, aggregate: Aggregate) =>
      gauge(`nodejs_eventloop_lag_${name}_seconds`, 'Delay of the event loop.', nanoseconds / 1e9, aggregate);
    const found = [
      of('min', delay.min, 'min'),
      of('max', delay.max, 'max'),
      of('mean', delay.mean, 'average'),
      of('stddev', delay.stddev, 'average'),
      ...[50, 90, 99].map((percent) => of(`p${percent}`, delay.percentile(percent), 'average')),
    ];
    const isEmpty = delay.count === 0;
    delay.reset();
    return isEmpty ? found.map((family) => ({ ...family, samples: [] })) : found;
  }

  return () => [
    ...times(),
    ...memory(),
    ...files(),
    ...lag(),
    { ...gc.family, samples: gc.family.samples() },
    gauge('nodejs_version_info', 'The version of Node.', 1, 'max', { version: process.version }),
  ];
}

function times(): FamilyValues[] {
  const { user, system } = process.cpuUsage();
  const cpu = (name: string, microseconds: number): FamilyValues => ({
    ...gauge(`process_cpu_${name}seconds_total`, 'Time on processors.', microseconds / 1e6),
    type: 'counter',
  });
  const started = Math.round(Date.now() / 1000 - process.uptime());
  return [
    cpu('user_', user),
    cpu('system_', system),
    cpu('', user + system),
    gauge('process_start_time_seconds', 'Start, in Unix time.', started, 'min'),
  ];
}

function memory(): FamilyValues[] {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  return [
    gauge('process_resident_memory_bytes', 'Resident memory.', rss),
    gauge('nodejs_heap_size_total_bytes', 'Size of the heap.', heapTotal),
    gauge('nodejs_heap_size_used_bytes', 'Used part of the heap.', heapUsed),
    gauge('nodejs_external_memory_bytes', 'Memory of objects outside of the heap.', external),
  ];
}

/** Linux shows the open files of a process in a folder, one of which is that of the folder itself. */
function files(): FamilyValues[] {
  const open = openFiles();
  return open === undefined ? [] : [gauge('process_open_fds', 'Open files and sockets.', open)];
}

/** Undefined: the system has no such folder, hides it, or permits no further file to this process. */
function openFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length - 1;
  } catch {
    return undefined;
  }
}

const gauge = (
  name: string,
  help: string,
  value: number,
  aggregate: Aggregate = 'sum',
  labels: Readonly<Record<string, string>> = {},
): FamilyValues => ({ name, help, type: 'gauge', aggregate, samples: [{ labels, value }] });
