/** Changes of the past as lines for people. */
import { terminalText } from '../shared/terminal-text.ts';
import type { ToldChange, ToldGap, ToldList } from './change-list.ts';

/** Fields of a change in its line, and characters of a value there. */
const fieldsShown = 3;
const valueCharsShown = 60;

/** A line of output, sorted by the time at which it belongs. */
interface Line {
  readonly time: string;
  readonly cells: readonly string[];
  readonly below?: readonly string[];
}

/** The versions of one object, the oldest first. */
export function historyText(list: ToldList, withDifferences: boolean): string {
  const { resource, apiVersion } = list.items[0] ?? { resource: '', apiVersion: '' };
  const lines = list.items.map((change): Line => {
    const { time = change.writer?.time ?? '', version } = change;
    const what =
      withDifferences && change.fields?.length
        ? `${change.fields.length} field${change.fields.length === 1 ? '' : 's'}`
        : whatOf(change);
    const below = withDifferences ? differences(change) : [];
    return { time, cells: [version, timeOf(change), writerOf(change), what], below };
  });
  const isMeant = ({ resources }: ToldGap): boolean =>
    !resources ||
    resources.some((one) => one === resource || one === `${resource}.${apiVersion.split('/')[0]}`);
  const gaps = joined((list.gaps ?? []).filter(isMeant)).map(gapLine('-'));
  const heads = ['VERSION', 'TIME', 'WRITTEN BY', 'WHAT'];
  return laidOut([{ time: '', cells: heads }, ...inOrder(lines, gaps)]) + beginningLine(list);
}

/** What happened, the oldest first. */
export function timelineText(list: ToldList, since: string): string {
  const lines = list.items.map((change): Line => {
    const { kind, name, namespace, event } = change;
    const place = namespace ? `${namespace}/` : '';
    const object = event ? `${place}${event.about}` : `${place}${kind}/${name}`;
    const what = event ? `${event.type} ${event.reason}: ${event.message}` : whatOf(change);
    return { time: change.time ?? '', cells: [timeOf(change), object, event ? '' : writerOf(change), what] };
  });
  const gaps = joined(list.gaps ?? []).map(gapLine());
  if (lines.length === 0 && gaps.length === 0)
    return `Nothing was changed since ${since}.\n${beginningLine(list)}`;
  const heads = ['TIME', 'OBJECT', 'WRITTEN BY', 'WHAT'];
  return laidOut([{ time: '', cells: heads }, ...inOrder(lines, gaps)]) + beginningLine(list);
}

const beginningLine = ({ oldestTime, incomplete }: ToldList): string =>
  `${oldestTime ? `History begins at ${oldestTime}.\n` : 'No change is kept: this is the state that there is.\n'}${
    incomplete ? 'There are more namespaces than were looked at: name one by -n.\n' : ''
  }`;

/** Gaps of several kinds that overlap and have one reason are one line. */
function joined(gaps: readonly ToldGap[]): ToldGap[] {
  const found: ToldGap[] = [];
  for (const gap of gaps) {
    const at = found.findIndex(
      ({ from, to = '~', why }) => why === gap.why && from <= (gap.to ?? '~') && gap.from <= to,
    );
    const other = found[at];
    if (!other) found.push(gap);
    else
      found[at] = {
        from: other.from < gap.from ? other.from : gap.from,
        ...(other.to && gap.to ? { to: other.to > gap.to ? other.to : gap.to } : {}),
        why: gap.why,
        ...(other.resources && gap.resources ? { resources: [...other.resources, ...gap.resources] } : {}),
      };
  }
  return found;
}

/** Resources that a gap names; of more it says how many. */
const resourcesShown = 3;

const unseen = (resources: readonly string[] | undefined): string =>
  !resources
    ? 'the cluster'
    : resources.length <= resourcesShown
      ? resources.join(', ')
      : `${resources.length} kinds`;

const gapLine =
  (...before: readonly string[]) =>
  ({ from, to, why, resources }: ToldGap): Line => ({
    time: from,
    cells: [
      ...before,
      from,
      ...(before.length ? [] : ['(gap)']),
      '',
      `gap until ${to ?? 'now'}: nothing was seen of ${unseen(resources)} (${why})`,
    ],
  });

/** Puts each gap before the first line that is later. */
function inOrder(lines: readonly Line[], gaps: readonly Line[]): Line[] {
  const ordered = [...lines];
  for (const gap of gaps) {
    const at = ordered.findIndex(({ time }) => time > gap.time);
    ordered.splice(at < 0 ? ordered.length : at, 0, gap);
  }
  return ordered;
}

/** A change that was found after a gap was made at some time in it. */
const timeOf = ({ time, writer, gap }: ToldChange): string =>
  gap ? 'in the gap' : (time ?? (writer?.time ? `${writer.time} or later` : 'before'));

const writerOf = ({ writer }: ToldChange): string =>
  writer ? writer.manager + (writer.subresource ? ` (${writer.subresource})` : '') : '-';

function whatOf({ type, fields = [], isCut }: ToldChange): string {
  if (type === 'STATE') return 'as it was when history begins';
  if (type === 'ADDED') return 'created';
  if (type === 'DELETED') return 'deleted';
  if (fields.length === 0) return 'no field but managed ones';
  const words = fields.slice(0, fieldsShown).map(({ path, before, after }) => {
    if (before === undefined) return `${path} set to ${short(after)}`;
    return after === undefined ? `${path} removed` : `${path} ${short(before)} → ${short(after)}`;
  });
  const more = fields.length - words.length;
  return words.join(', ') + (more > 0 ? `, and ${isCut ? 'more than ' : ''}${more} more` : '');
}

function short(value: unknown): string {
  const text = typeof value === 'string' ? value || '""' : JSON.stringify(value);
  return text.length <= valueCharsShown ? text : `${text.slice(0, valueCharsShown - 1)}…`;
}

/** Each field with its lines before and after. */
function differences({ fields = [], isCut }: ToldChange): string[] {
  const lines = fields.flatMap(({ path, before, after }) => [
    `    ${path}`,
    ...(before === undefined ? [] : valueLines('-', before)),
    ...(after === undefined ? [] : valueLines('+', after)),
  ]);
  return isCut ? [...lines, '    … and more'] : lines;
}

const valueLines = (sign: string, value: unknown): string[] =>
  (typeof value === 'string' ? value : JSON.stringify(value, null, 2))
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => `      ${sign} ${line}`);

/** Columns as wide as their longest cell, the last one as it is. Objects hold what programs wrote. */
function laidOut(given: readonly Line[]): string {
  const lines = given.map(({ cells, below = [] }) => ({
    cells: cells.map(terminalText),
    below: below.map(terminalText),
  }));
  const widths = lines[0]!.cells.map((_, i) =>
    lines.reduce((most, { cells }) => Math.max(most, cells[i]!.length), 0),
  );
  return lines
    .map(({ cells, below }) => {
      const line = cells
        .map((cell, i) => (i === cells.length - 1 ? cell : cell.padEnd(widths[i]!)))
        .join('  ');
      return [line.trimEnd(), ...below, ''].join('\n');
    })
    .join('');
}
