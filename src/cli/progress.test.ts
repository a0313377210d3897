/** Proves that progress is one line, only on a terminal, throttled, and removed at the end. */
import { expect, it } from 'vitest';
import { ProgressLine } from './progress.ts';

function line(isTTY: boolean): { line: ProgressLine; written: string[]; pass(ms: number): void } {
  let nowMs = 0;
  const written: string[] = [];
  const stream = { isTTY, write: (text: string) => written.push(text) };
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { line: new ProgressLine(stream, 'Restoring', () => nowMs), written, pass };
}

it('is shown over and over in the same place, and taken away', () => {
  const { line: shown, written, pass } = line(true);
  shown.show({ objects: 0, bytes: 0, bytesTotal: 2_000_000 });
  pass(99);
  shown.show({ objects: 500, bytes: 600_000, bytesTotal: 2_000_000 });
  pass(1);
  shown.show({ objects: 900, bytes: 999_999, bytesTotal: 2_000_000 });
  pass(100);
  shown.show({ objects: 1, bytes: 1 });
  shown.end();
  expect(written).toEqual([
    '\rRestoring: 0 objects, 0 bytes of 2.0 MB (0%)',
    '\rRestoring: 900 objects, 1000 KB of 2.0 MB (49%)',
    `\r${'Restoring: 1 objects, 1 bytes'.padEnd(47)}`,
    `\r${' '.repeat(29)}\r`,
  ]);
});

it('is not shown where there is no terminal', () => {
  const { line: hidden, written } = line(false);
  hidden.show({ objects: 0, bytes: 0 });
  hidden.end();
  expect(written).toEqual([]);
});
