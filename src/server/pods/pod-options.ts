/**
 * The options of exec, attach and portforward: translates the query of the API to that of a kubelet, which has other
 * names and accepts only `1` for true.
 */
import { badRequest } from '../../api/errors/errors.ts';
import type { Query } from '../wire/query.ts';

const portMax = 65_535;

export interface SessionOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
  /** The client named neither stdout nor stderr, so both are on by default. */
  readonly outputByDefault: boolean;
}

export function sessionOptions(query: Query): SessionOptions {
  const outputByDefault = !query.has('stdout') && !query.has('stderr');
  return {
    stdin: query.flag('stdin'),
    stdout: outputByDefault || query.flag('stdout'),
    stderr: outputByDefault || query.flag('stderr'),
    tty: query.flag('tty'),
    outputByDefault,
  };
}

/** The kubelet that reads the query. */
export interface SessionReader {
  /** With SPDY the client opens the streams, and the kubelet waits for each that was requested. */
  readonly spdy: boolean;
  /** Whether the kubelet is Wherry's own agent, which accepts optional streams. */
  readonly own: boolean;
}

/** Sorted by name, as in Kubernetes. Only Wherry's own agent knows `optional`. */
export function kubeletSessionQuery(
  options: SessionOptions,
  commands: readonly string[],
  { spdy, own }: SessionReader,
): string {
  const { stdin, outputByDefault } = options;
  // A client that requested only stdin opens no other stream; another kubelet would wait for the default ones.
  const output = own || !(spdy && outputByDefault && stdin);
  return [
    ...commands.map((command) => `command=${command}`),
    ...(output && options.stderr ? ['error=1'] : []),
    ...(stdin ? ['input=1'] : []),
    ...(own && outputByDefault ? ['optional=1'] : []),
    ...(output && options.stdout ? ['output=1'] : []),
    ...(options.tty ? ['tty=1'] : []),
  ].join('&');
}

/** The arguments of a command in their order, still encoded: they are bytes, not necessarily UTF-8. */
export const encodedCommands = (queryText: string): string[] =>
  queryText
    .split('&')
    .map((pair) => {
      const equals = pair.indexOf('=');
      return equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)];
    })
    .filter(([name]) => decodeBytes(name!).toString('latin1') === 'command')
    .map(([, value]) => encodeBytes(decodeBytes(value!)));

const decodeBytes = (text: string): Buffer =>
  Buffer.from(
    Buffer.from(text.replaceAll('+', ' '), 'utf8')
      .toString('latin1')
      .replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );

const encodeBytes = (bytes: Buffer): string =>
  bytes
    .toString('latin1')
    .replace(/[^\w.~-]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);

/** `ports=80,443&ports=8080` → `port=80,443,8080`. */
export function kubeletPortsQuery(query: Query): string {
  const ports = query.all('ports').flatMap((value) => value.split(','));
  for (const port of ports) {
    const problem = !/^\d+$/.test(port)
      ? 'invalid syntax'
      : Number(port) > portMax
        ? 'value out of range'
        : undefined;
    if (problem)
      throw badRequest(
        `cannot convert to []int32: strconv.ParseUint: parsing ${JSON.stringify(port)}: ${problem}`,
      );
  }
  return ports.length ? `port=${ports.map(Number).join(',')}` : '';
}
