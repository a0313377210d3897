/** Saves logs as a file: one container as it is; several in the order of time, each line with its container. */
import { askText } from '../../core/api.ts';
import type { ApiObject } from '../../core/objects.ts';
import type { Container } from '../pods/containers.ts';
import { compareLines, type LogLine, splitTime } from './log-line.ts';

/** Length of the log of each container: the dashboard holds all of it at once. */
const limitBytes = 64 * 1024 * 1024;

interface Wish {
  readonly previous: boolean;
  readonly times: boolean;
}

export async function saveLog(
  { metadata: { name } }: ApiObject,
  path: string,
  containers: readonly Container[],
  { previous, times }: Wish,
): Promise<void> {
  const read = (container: string, timestamps: boolean): Promise<string> =>
    askText(path, { query: { container, previous, timestamps, limitBytes } });
  const [only] = containers;
  if (only && containers.length === 1) return save(`${name}-${only.name}.log`, await read(only.name, times));
  const lines: LogLine[] = [];
  const results = await Promise.allSettled(containers.map(({ name: container }) => read(container, true)));
  for (const [i, result] of results.entries()) {
    // A container that has not started has no log.
    if (result.status === 'rejected') continue;
    const container = containers[i]!.name;
    for (const raw of result.value.split('\n'))
      if (raw) lines.push({ ...splitTime(raw), container, sequence: lines.length });
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
