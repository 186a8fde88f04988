import { parseArgs } from 'node:util';

/** The work of a run. */
export interface Options {
  readonly kind: 'full' | 'quick';
  readonly only: RegExp | undefined;
  readonly rounds: number;
  readonly seconds: number;
  readonly load: 'wrk' | 'autocannon' | undefined;
  readonly items: number;
  readonly peers: ReadonlySet<string>;
  /** The largest number of items of the growth curve; undefined: the usual rows. */
  readonly growth: number | undefined;
  /** The largest number of items that the capacity model is fitted to; undefined: the usual rows. */
  readonly model: number | undefined;
  readonly compare: string | undefined;
  readonly chart: string | undefined;
  /** Whether it has all rows, contestants and items of its kind: only such results are stored and compared. */
  readonly whole: boolean;
}

export const HELP = `npm run bench -- [options]
  --quick            three short rounds, Plinth, the hand-written server and bare node:http: under 3 minutes
  --only <regex>     only rows whose name matches
  --rounds <n>       measured rounds of each row, after one that warms up
  --seconds <s>      length of a round
  --load <tool>      wrk or autocannon; else wrk when it is installed
  --items <n>        items in the database
  --peers <a,b>      of handwritten, bare, fastify, express
  --growth[=<n>]     what a request costs from 10,000 items to n (1,000,000)
  --model[=<n>]      the constants of docs/capacity.md, from 10,000 items to n (10,000,000): about 20 minutes
  --compare <file>   a result to compare with; else the latest of the same kind
  --chart <file>     where the chart goes; a full run writes docs/bench.svg
`;

const PEERS = { quick: 'handwritten,bare', full: 'handwritten,bare,fastify,express' };

/** The number of items of --model by default. */
export const LARGEST_MODEL = 10_000_000;

const LEFT_OUT: Readonly<Record<string, string>> = {
  '--growth': '--growth=1000000',
  '--model': `--model=${LARGEST_MODEL}`,
};

/** Reads the command line. Throws an error that tells what is wrong with it. */
export function readOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    // parseArgs knows no option with a value that may be left out.
    args: args.map((arg) => LEFT_OUT[arg] ?? arg),
    options: {
      help: { type: 'boolean' },
      quick: { type: 'boolean' },
      only: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      load: { type: 'string' },
      items: { type: 'string' },
      peers: { type: 'string' },
      growth: { type: 'string' },
      model: { type: 'string' },
      compare: { type: 'string' },
      chart: { type: 'string' },
    },
  });
  if (values.help) return 'help';
  const kind = values.quick ? 'quick' : 'full';
  const { load, growth, model } = values;
  const peers = new Set((values.peers ?? PEERS[kind]).split(','));
  for (const peer of peers)
    if (!PEERS.full.split(',').includes(peer)) throw new Error(`--peers takes some of ${PEERS.full}`);
  if (load !== undefined && load !== 'wrk' && load !== 'autocannon')
    throw new Error('--load takes wrk or autocannon');
  return {
    kind,
    load,
    only: values.only === undefined ? undefined : new RegExp(values.only, 'i'),
    rounds: number('rounds', values.rounds, kind === 'quick' ? 3 : 5, 1),
    seconds: number('seconds', values.seconds, kind === 'quick' ? 0.8 : 3, 0.1),
    items: number('items', values.items, kind === 'quick' ? 200_000 : 1_000_000, 1000),
    peers,
    growth: growth === undefined ? undefined : number('growth', growth, 0, 10_000),
    model: model === undefined ? undefined : number('model', model, 0, 100_000),
    compare: values.compare,
    chart: values.chart,
    whole: ['only', 'items', 'peers'].every((name) => !(name in values)),
  };
}

function number(name: string, text: string | undefined, fallback: number, min: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (!(value >= min)) throw new Error(`--${name} takes a number from ${min}`);
  return value;
}
