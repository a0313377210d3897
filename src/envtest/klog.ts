/**
 * Lines in the form in which Kubernetes' programs write their log: `I1116 00:45:36.126671    5427 run.go:72] text`, or JSON
 * with `--logging-format=json`.
 */

type LogFormat = 'text' | 'json';

const two = (value: number): string => String(value).padStart(2, '0');

export function klogLine(
  letter: 'I' | 'W' | 'E',
  nowMs: number,
  source: string,
  text: string,
  format: LogFormat = 'text',
): string {
  if (format === 'json') return `${JSON.stringify({ ts: nowMs, caller: source, msg: text, v: 0 })}\n`;
  return `${head(letter, nowMs, source)} ${text}\n`;
}

/** The last line of a server that cannot start. */
export function failureLine(nowMs: number, message: string, format: LogFormat = 'text'): string {
  const [source, msg] = ['run.go:72', 'command failed'];
  if (format === 'json') return `${JSON.stringify({ ts: nowMs, caller: source, msg, err: message })}\n`;
  return `${head('E', nowMs, source)} ${JSON.stringify(msg)} err=${JSON.stringify(message)}\n`;
}

function head(letter: string, nowMs: number, source: string): string {
  const at = new Date(nowMs);
  const day = `${two(at.getUTCMonth() + 1)}${two(at.getUTCDate())}`;
  const time = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;
  const micros = `${String(at.getUTCMilliseconds()).padStart(3, '0')}000`;
  return `${letter}${day} ${time}.${micros} ${String(process.pid).padStart(7)} ${source}]`;
}
