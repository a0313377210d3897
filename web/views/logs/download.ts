/** Saves logs as a file: one container as it is; several in the order of time, each line with its container. */
import { askText } from '../../core/api.ts';
import { compareLines, type LogLine, splitTime } from './log-line.ts';
import type { LogSource } from './log-sources.ts';

/** Length of the log of each container: the dashboard holds all of it at once. */
const limitBytes = 64 * 1024 * 1024;

interface Wish {
  readonly previous: boolean;
  readonly times: boolean;
}

export async function saveLog(
  name: string,
  sources: readonly LogSource[],
  { previous, times }: Wish,
): Promise<void> {
  const read = ({ path, container }: LogSource, timestamps: boolean): Promise<string> =>
    askText(path, { query: { container, previous, timestamps, limitBytes } });
  const [only] = sources;
  if (only && sources.length === 1) return save(`${name}-${only.label}.log`, await read(only, times));
  const lines: LogLine[] = [];
  const results = await Promise.allSettled(sources.map((source) => read(source, true)));
  for (const [i, result] of results.entries()) {
    // A container that has not started has no log.
    if (result.status === 'rejected') continue;
    const { label } = sources[i]!;
    for (const raw of result.value.split('\n'))
      if (raw) lines.push({ ...splitTime(raw), container: label, sequence: lines.length });
  }
  if (lines.length === 0 && results[0]?.status === 'rejected') throw results[0].reason;
  const text = lines
    .sort(compareLines)
    .map(({ time, container, text: line }) => `${times ? `${time} ` : ''}${container} ${line}\n`);
  save(`${name}.log`, text.join(''));
}

function save(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
