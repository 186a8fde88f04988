import { Session } from 'node:inspector/promises';

/**
 * Loaded into a service before its program: counts the functions that run. Responds to each message of the parent with the
 * functions that have run since the message before, as `file:function:offset`.
 */
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

process.on('message', async () => {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const called = result.flatMap(({ url, functions }) => {
    const [, file] = /\/dist\/src\/(.*)\.js$/.exec(url) ?? [];
    if (file === undefined) return [];
    return functions.flatMap(({ functionName, ranges: [range] }) =>
      range!.count > 0 ? [`${file}:${functionName}:${range!.startOffset}`] : [],
    );
  });
  process.send!(called);
});
process.channel?.unref();
