/** The table that `npm run attack` prints: what each attack achieved and cost, and what a neighbour felt. */
import type { Felt } from './neighbour.ts';
import type { Blocks } from './server-process.ts';

/** A neighbour may wait this many times as long beside an attack as without it. */
const feltMax = 3;

export interface AttackRow {
  readonly name: string;
  readonly says: string;
  readonly gotIn: readonly string[];
  readonly cpuMs: number;
  readonly tookMs: number;
  /** How the event loop was held up; undefined where only a probe can tell. */
  readonly blocks: Blocks | undefined;
  readonly alone: Felt;
  readonly beside: Felt;
  /** What the neighbour of a server that is not attacked felt at the same time: the machine's part. */
  readonly elsewhere: Felt;
}

const titles = [
  'attack',
  'got in',
  'CPU of the server',
  'longest block, all above 10 ms',
  'neighbour alone p50/p99',
  'beside p50/p99',
  'at another server p50/p99',
  'times',
  "the server's part",
  'the server worked meanwhile, alone p50/p99',
  'beside p50/p99',
  'times',
];

/** What the columns mean that cannot be said in their titles. */
const notes = `
Attackers run at a lower priority than the servers, and neighbours at a higher one (as root), because all of them share
the processors of one machine, on which other programs may run. The last three columns are about processor time: how
long the server worked, for whomever, from a neighbour's request to its answer. What the machine adds is not in them.
`;

export function tableText(rows: readonly AttackRow[]): string {
  const cells = [titles, ...rows.map(cellsOf)];
  const widths = titles.map((_, i) => Math.max(...cells.map((row) => row[i]!.length)));
  const lines = cells.map((row) => row.map((cell, i) => cell.padEnd(widths[i]!)).join('  '));
  const told = rows.flatMap(({ name, says, gotIn }) => [
    `${name}: ${says}`,
    ...gotIn.map((what) => `  GOT IN: ${what}`),
  ]);
  return `\n${told.join('\n')}\n\n${lines.join('\n')}\n${notes}`;
}

const marked = (times: number): string => `${times.toFixed(1)}${times > feltMax ? ' (more than 3)' : ''}`;

const worked = ({ workedP50Ms, workedP99Ms }: Felt): string =>
  Number.isNaN(workedP99Ms) ? '?' : `${workedP50Ms.toFixed(1)}/${workedP99Ms.toFixed(1)} ms`;

const pair = ({ p50Ms, p99Ms }: Felt): string => `${p50Ms.toFixed(1)}/${p99Ms.toFixed(1)} ms`;

function cellsOf({ name, gotIn, cpuMs, tookMs, blocks, alone, beside, elsewhere }: AttackRow): string[] {
  const times = beside.p99Ms / alone.p99Ms;
  // The attacker and both servers share the processors, so a part of the wait is not the attacked server's.
  const own = beside.p99Ms / Math.max(alone.p99Ms, elsewhere.p99Ms);
  return [
    name,
    gotIn.length ? `${gotIn.length} things` : 'nothing',
    Number.isNaN(cpuMs) ? '?' : `${(cpuMs / 1000).toFixed(1)} s of ${(tookMs / 1000).toFixed(1)}`,
    blocks === undefined
      ? `${Math.round(beside.probeMaxMs)} ms (a probe's wait)`
      : `${Math.round(blocks.maxMs)} ms, ${blocks.count}`,
    pair(alone),
    pair(beside),
    pair(elsewhere),
    marked(times),
    own.toFixed(1),
    worked(alone),
    worked(beside),
    marked(beside.workedP99Ms / alone.workedP99Ms),
  ];
}
