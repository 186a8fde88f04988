import { randomInt } from 'node:crypto';
import { CITUS_URL } from '../citus.js';
import type { Thoroughness } from '../thorough.js';
import { filesOf, isSet, isWholeSet, namedFile, type TestFile, thoroughnessOf } from './files.js';
import { shuffled } from './random.js';

export interface Run {
  /** In the order in which they run. */
  readonly files: readonly TestFile[];
  readonly tapOptions: readonly string[];
  readonly seed: number;
  /** Number of workers; undefined: two more than there are cores. */
  readonly jobs: number | undefined;
  /** Whether all files are part of it, in which each error and operation occurs: the gaps in the contract are counted. */
  readonly isWhole: boolean;
  /** How often tests repeat; undefined in the default set. Files that the arguments name run all their tests. */
  readonly thoroughness: Thoroughness | undefined;
  /** Whether tests with other names for the collections may run. */
  readonly withRenamed: boolean;
}

/** Reads the arguments of the runner. Throws if a file does not exist. */
export function readArguments(args: readonly string[]): Run {
  const sets = args.filter(isSet);
  const paths = args.filter((arg) => /\.test\.[jt]s$/.test(arg));
  const numberOf = (option: string) => {
    const given = args.find((arg) => arg.startsWith(`--${option}=`));
    return given === undefined ? undefined : Number(given.split('=')[1]);
  };
  const seed = numberOf('seed') ?? randomInt(2 ** 31);
  const isAboutNames = paths.some((path) => path.includes('system/renamed.'));
  const withRenamed = CITUS_URL === '' && (paths.length === 0 || isAboutNames || args.includes('--renamed'));
  const isOfRunner = (arg: string) =>
    isSet(arg) || paths.includes(arg) || arg === '--renamed' || /^--(seed|jobs|repeat)=/.test(arg);
  const wanted = sets.length === 0 ? [undefined] : sets;
  const turns = Array.from({ length: numberOf('repeat') ?? 1 }, (_, turn) => turn);
  const found =
    paths.length > 0
      ? paths.map((path) => namedFile(path, args.includes('--renamed')))
      : wanted.flatMap(filesOf);
  return {
    files: turns.flatMap((turn) =>
      longFirst(shuffled(found, seed + turn)).map((file) => ({ ...file, turn })),
    ),
    tapOptions: args.filter((arg) => !isOfRunner(arg)),
    seed,
    jobs: numberOf('jobs'),
    isWhole: paths.length === 0 && wanted.some(isWholeSet),
    thoroughness:
      wanted.map(thoroughnessOf).find((each) => each !== undefined) ??
      (paths.length > 0 ? 'whole' : undefined),
    withRenamed,
  };
}

/** The files that may take longest begin, so that no worker waits for one at the end. */
function longFirst(files: readonly TestFile[]): TestFile[] {
  return [...files.filter(({ isLong }) => isLong), ...files.filter(({ isLong }) => !isLong)];
}
