/** A progress line on a terminal; elsewhere nothing is shown. */
import type { Progress } from '../cluster/store/backup.ts';

/** Minimum time between two updates. */
const everyMs = 100;
const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];

export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

export class ProgressLine {
  #shownAtMs = Number.NEGATIVE_INFINITY;
  #shown = '';

  constructor(
    private readonly stream: ProgressStream,
    private readonly doing: string,
    private readonly nowMs = () => performance.now(),
  ) {}

  /** Updates the line; may be called often. */
  show(progress: Progress): void {
    this.showText(formatProgress(progress));
  }

  /** The same with other words. */
  showText(progress: string): void {
    if (!this.stream.isTTY || this.nowMs() - this.#shownAtMs < everyMs) return;
    this.#shownAtMs = this.nowMs();
    const text = `${this.doing}: ${progress}`;
    // Overwrite the former line completely.
    this.stream.write(`\r${text.padEnd(this.#shown.length)}`);
    this.#shown = text;
  }

  /** Removes the line. */
  end(): void {
    if (this.#shown) this.stream.write(`\r${' '.repeat(this.#shown.length)}\r`);
    this.#shown = '';
  }
}

function formatProgress({ objects, bytes, bytesTotal }: Progress): string {
  const done = `${objects} objects, ${formatBytes(bytes)}`;
  if (!bytesTotal) return done;
  const percent = Math.min(100, Math.floor((100 * bytes) / bytesTotal));
  return `${done} of ${formatBytes(bytesTotal)} (${percent}%)`;
}

function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}
