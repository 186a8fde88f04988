import { type Result, ratioOf } from './judge.js';
import type { Report } from './results.js';

/** The rows that the chart shows, by name and connections. */
const SHOWN = [
  'get one (64)',
  'not modified (64)',
  'first page (4)',
  'middle page (4)',
  'search, common word (4)',
  'search, rare word (4)',
  'search, oldest match (4)',
  'whole array (1)',
  'create (64)',
  'patch (64)',
];

const WIDTH = 760;
const LEFT = 190;
const RIGHT = 90;
const BAR = 13;
const GAP = 14;
const TOP = 92;

interface Bar {
  readonly label: string;
  readonly ratio: number;
}

interface Group {
  readonly title: string;
  readonly bars: readonly Bar[];
}

/** A bar chart of requests a second as a multiple of the hand-written server's, as SVG. */
export function chart(report: Report): string {
  const groups = report.rows.flatMap((row) => groupOf(row) ?? []);
  const ratios = groups.flatMap(({ bars }) => bars.map(({ ratio }) => ratio));
  const scale = scaleOf(ratios);
  const height = TOP + groups.reduce((sum, { bars }) => sum + bars.length * BAR + GAP, 0) + 20;
  const parts: string[] = [];
  let y = TOP;
  for (const group of groups) {
    parts.push(drawGroup(group, y, scale));
    y += group.bars.length * BAR + GAP;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escapeXml(TITLE)}">
${STYLE}
<rect class="ground" width="${WIDTH}" height="${height}"/>
<text class="title" x="12" y="22">${escapeXml(TITLE)}</text>
${EXPLANATION.map((line, index) => `<text class="note" x="12" y="${38 + index * 13}">${escapeXml(line)}</text>`).join('\n')}
<text class="note" x="12" y="64">${escapeXml(subtitle(report))}</text>
${scale.ticks.map((tick) => drawTick(tick, scale, height)).join('\n')}
${parts.join('\n')}
</svg>
`;
}

const TITLE = 'Requests a second, as a multiple of the hand-written server';
const EXPLANATION = [
  'Each bar starts at 1 x, the rate of the hand-written server (node:http, postgres.js), on a logarithmic scale; to the left is slower.',
  'Blue: Plinth. Grey: the others. In parentheses: concurrent connections.',
];

function subtitle({ date, machine, items }: Report): string {
  return `${date}, ${counted(items)} items, ${machine.cpu}, ${machine.cores} cores, Node ${machine.versions.node}`;
}

function groupOf(row: Result): Group | undefined {
  const title = `${row.name} (${row.connections})`;
  if (!SHOWN.includes(title)) return undefined;
  const bars = row.entrants.flatMap(({ label }) => {
    const ratio = ratioOf(row, label);
    return ratio === undefined || ratio === 0 || label === row.base || label === 'bare'
      ? []
      : { label, ratio };
  });
  return bars.length === 0 ? undefined : { title, bars };
}

interface Scale {
  readonly ticks: readonly number[];
  readonly x: (ratio: number) => number;
}

/** Powers of ten around all bars; the baseline, 1, is always among them. */
function scaleOf(ratios: readonly number[]): Scale {
  const low = Math.floor(Math.log10(Math.min(0.5, ...ratios)));
  const high = Math.ceil(Math.log10(Math.max(10, ...ratios)));
  const width = WIDTH - LEFT - RIGHT;
  return {
    ticks: Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index)),
    x: (ratio) => LEFT + (width * (Math.log10(ratio) - low)) / (high - low),
  };
}

function drawTick(tick: number, { x }: Scale, height: number): string {
  const at = round(x(tick));
  const line = `<line class="${tick === 1 ? 'base' : 'tick'}" x1="${at}" y1="${TOP - 6}" x2="${at}" y2="${height - 12}"/>`;
  return `${line}<text class="note" x="${at}" y="${TOP - 10}" text-anchor="middle">${counted(Number(tick.toPrecision(1)))} x</text>`;
}

function drawGroup({ title, bars }: Group, y: number, { x }: Scale): string {
  const base = x(1);
  const drawn = bars.map(({ label, ratio }, index) => {
    const [top, end] = [y + index * BAR, x(ratio)];
    const [from, width] = [Math.min(base, end), Math.max(1, Math.abs(end - base))];
    const text = `${ratio >= 10 ? counted(Math.round(ratio)) : ratio.toFixed(2)} x ${label}`;
    const rect = `<rect class="${label === 'plinth' ? 'own' : 'other'}" x="${round(from)}" y="${top}" width="${round(width)}" height="${BAR - 2}"/>`;
    return `${rect}<text class="note value" x="${round(Math.max(base, end) + 4)}" y="${top + BAR - 3}">${escapeXml(text)}</text>`;
  });
  return `<text x="${LEFT - 12}" y="${y + BAR - 2}" text-anchor="end">${escapeXml(title)}</text>${drawn.join('')}`;
}

/** How every chart looks, by day and by night. */
export const STYLE = `<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 14px; font-weight: 600 }
.note { font-size: 10px; fill: #59636e }
.own { fill: #0969da } .other { fill: #8c959f } .line { fill: none; stroke: #0969da; stroke-width: 2 }
.tick { stroke: #d1d9e0 } .base { stroke: #59636e }
.ground { fill: #fff } .value { paint-order: stroke; stroke: #fff; stroke-width: 4px; stroke-linejoin: round }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .note { fill: #9198a1 }
.own { fill: #4493f8 } .other { fill: #656c76 } .line { stroke: #4493f8 }
.tick { stroke: #3d444d } .base { stroke: #9198a1 }
.ground { fill: #0d1117 } .value { stroke: #0d1117 }
}
</style>`;

/** A number with separators of thousands: `1,000,000`. */
export const counted = (value: number) => value.toLocaleString('en-US');

const round = (value: number) => Math.round(value * 10) / 10;

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** A text as it stands in XML. */
export const escapeXml = (text: string) => text.replace(/[&<>"]/g, (character) => ESCAPES[character]!);
