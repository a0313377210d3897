/** What was read of a dump, for people. */
import type { DumpSummary } from '../cluster/index.ts';
import { terminalText } from '../cluster/shared/terminal-text.ts';

/** Problems that are printed in full; the others are counted by their reason. */
const printedMax = 20;
const kindsPerLine = 4;

export function summaryText(summary: DumpSummary): string {
  const { files, objects, logs, duplicates, inferred, kinds } = summary;
  const counts = Object.entries(kinds).map(([name, count]) => `${name} ${count}`);
  const rows = Array.from({ length: Math.ceil(counts.length / kindsPerLine) }, (_, i) =>
    counts.slice(i * kindsPerLine, (i + 1) * kindsPerLine).join(', '),
  );
  return [
    `Read ${count(files, 'file')}: ${count(objects, 'object')}, ${count(logs, 'log')}`,
    ...rows.map((row) => `  ${row}`),
    ...(duplicates ? [`${count(duplicates, 'object')} more than once in it: the newest is shown`] : []),
    ...(inferred.length ? [`Without a definition, served by what objects show: ${inferred.join(', ')}`] : []),
    ...problemLines(summary),
  ]
    .map((line) => `${terminalText(line)}\n`)
    .join('');
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

function problemLines({ problems, problemCount }: DumpSummary): string[] {
  if (problemCount === 0) return [];
  const lines = problems.slice(0, printedMax).map(({ file, why }) => `  ${file}: ${why}`);
  const byReason = new Map<string, number>();
  for (const { why } of problems.slice(printedMax)) byReason.set(why, (byReason.get(why) ?? 0) + 1);
  const rest = [...byReason].sort(([, a], [, b]) => b - a).slice(0, printedMax);
  const more = problemCount - lines.length - rest.reduce((sum, [, number]) => sum + number, 0);
  return [
    `Not shown (${problemCount}):`,
    ...lines,
    ...rest.map(([why, number]) => `  ${count(number, 'more')}: ${why}`.replace('mores', 'more')),
    ...(more > 0 ? [`  and ${more} others`] : []),
  ];
}
