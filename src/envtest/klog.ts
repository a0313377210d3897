/** Lines in the form in which Kubernetes' programs write their log: `I1116 00:45:36.126671    5427 run.go:72] text`. */

const two = (value: number): string => String(value).padStart(2, '0');

export function klogLine(letter: 'I' | 'W' | 'E', nowMs: number, source: string, text: string): string {
  const at = new Date(nowMs);
  const day = `${two(at.getUTCMonth() + 1)}${two(at.getUTCDate())}`;
  const time = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;
  const micros = `${String(at.getUTCMilliseconds()).padStart(3, '0')}000`;
  return `${letter}${day} ${time}.${micros} ${String(process.pid).padStart(7)} ${source}] ${text}\n`;
}

/** The last line of a server that cannot start. */
export const failureLine = (nowMs: number, message: string): string =>
  klogLine('E', nowMs, 'run.go:72', `"command failed" err=${JSON.stringify(message)}`);
