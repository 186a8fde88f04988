import { counted, escapeXml, STYLE } from './chart.js';

/** Resident memory at a time. */
export interface Point {
  readonly seconds: number;
  readonly mb: number;
}

const WIDTH = 760;
const HEIGHT = 300;
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 20, 80, 36];
const TITLE = 'Resident memory under mixed load';

/** A curve of resident memory as SVG, with the band around `base` that it is to end in. */
export function curve(points: readonly Point[], base: number, tolerance: number, note: string): string {
  const last = points.at(-1)!.seconds;
  const top = Math.max(base * (1 + tolerance), ...points.map(({ mb }) => mb)) * 1.1;
  const step = 10 ** Math.floor(Math.log10(top / 2));
  const x = (seconds: number) => round(LEFT + ((WIDTH - LEFT - RIGHT) * seconds) / last);
  const y = (mb: number) => round(HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * mb) / top);
  const levels = Array.from({ length: Math.floor(top / step) + 1 }, (_, index) => index * step);
  const shown = levels.filter((_, index) => index % Math.ceil(levels.length / 6) === 0);
  const minutes = Array.from({ length: Math.floor(last / 60) + 1 }, (_, index) => index);
  const [high, low] = [y(base * (1 + tolerance)), y(base * (1 - tolerance))];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${TITLE}">
${STYLE}
<rect class="ground" width="${WIDTH}" height="${HEIGHT}"/>
<text class="title" x="12" y="22">${TITLE}</text>
${[...explanation(base, tolerance), note].map((text, index) => `<text class="note" x="12" y="${38 + index * 13}">${escapeXml(text)}</text>`).join('\n')}
<rect class="other" opacity="0.2" x="${LEFT}" y="${high}" width="${WIDTH - LEFT - RIGHT}" height="${round(low - high)}"/>
${shown.map((mb) => `<line class="tick" x1="${LEFT}" y1="${y(mb)}" x2="${WIDTH - RIGHT}" y2="${y(mb)}"/><text class="note" x="${LEFT - 6}" y="${y(mb) + 3}" text-anchor="end">${counted(mb)} MB</text>`).join('\n')}
${minutes.map((minute) => `<text class="note" x="${x(minute * 60)}" y="${HEIGHT - 16}" text-anchor="middle">${minute} min</text>`).join('')}
<polyline class="line" points="${points.map(({ seconds, mb }) => `${x(seconds)},${y(mb)}`).join(' ')}"/>
</svg>
`;
}

function explanation(base: number, tolerance: number): string[] {
  const [from, to] = [base * (1 - tolerance), base * (1 + tolerance)].map((mb) => counted(Math.round(mb)));
  const percent = Math.round(tolerance * 100);
  return [
    'Line: memory of the process, a sample every five seconds.',
    `Grey band: ${from} to ${to} MB, ${percent} % around the median of the minute after the warm-up. The median of the last minute must be in it.`,
  ];
}

const round = (value: number) => Math.round(value * 10) / 10;
