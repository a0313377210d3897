/** Which ports of a machine are taken: read from /proc/net on Linux, elsewhere tried by connecting. */
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Pod } from '../../api/generated/types.ts';

/** On the same machine a connection is accepted or refused at once. */
const tryMs = 500;
const listenState = '0A';
/** State of a bound UDP socket without a peer. */
const boundState = '07';

/** A socket that listens on a port. */
export interface ListeningPort {
  /** Whether it listens on loopback only. */
  readonly loopback: boolean;
  readonly port: number;
}

/** Parses `/proc/net/tcp` and the like. Lines of another form are skipped. */
export function parseListeners(table: string): ListeningPort[] {
  const listeners: ListeningPort[] = [];
  for (const line of table.split('\n')) {
    const found = /^\s*\d+: ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]+ ([0-9A-F]{2}) /.exec(
      line,
    );
    if (!found || (found[3] !== listenState && found[3] !== boundState)) continue;
    listeners.push({ loopback: isLoopback(found[1]!), port: Number.parseInt(found[2]!, 16) });
  }
  return listeners;
}

/** The file has words of four bytes, little-endian on current machines. IPv4-mapped IPv6 addresses count as well. */
const isLoopback = (hex: string): boolean =>
  hex.length === 8
    ? hex.endsWith('7F')
    : hex === '00000000000000000000000001000000' || /^0{16}FFFF0000.{6}7F$/.test(hex);

/**
 * The ports a pod wants that another process of this machine has taken: container ports where it shares the
 * machine's network, else host ports.
 */
export async function takenPorts(
  pod: Pod,
  which: 'containerPort' | 'hostPort' = 'containerPort',
): Promise<number[]> {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const wanted = new Map<'TCP' | 'UDP', Set<number>>();
  for (const { ports = [] } of [...initContainers, ...containers])
    for (const { [which]: port, protocol = 'TCP' } of ports)
      if (port && (protocol === 'TCP' || protocol === 'UDP'))
        wanted.set(protocol, (wanted.get(protocol) ?? new Set()).add(port));
  const taken = new Set<number>();
  for (const [protocol, ports] of wanted)
    for (const port of await takenOf(protocol, [...ports])) taken.add(port);
  return [...taken].sort((a, b) => a - b);
}

async function takenOf(protocol: 'TCP' | 'UDP', ports: readonly number[]): Promise<number[]> {
  const name = protocol.toLowerCase();
  const tables = await Promise.all(
    [`/proc/net/${name}`, `/proc/net/${name}6`].map((path) =>
      readFile(path, 'latin1').catch(() => undefined),
    ),
  );
  if (tables.some((table) => table !== undefined)) {
    const taken = new Set(tables.flatMap((table) => parseListeners(table ?? '').map(({ port }) => port)));
    return ports.filter((port) => taken.has(port));
  }
  // UDP cannot be tried without binding the port, and its owner might want it at that moment.
  if (protocol === 'UDP') return [];
  const answers = await Promise.all(ports.map(isAnswered));
  return ports.filter((_port, index) => answers[index]);
}

function isAnswered(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    if (!(port > 0 && port < 65_536)) return resolve(false);
    const socket = connect({ host: '127.0.0.1', port });
    const settle = (answered: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answered);
    };
    const timer = setTimeout(() => settle(false), tryMs);
    socket.once('connect', () => settle(true)).once('error', () => settle(false));
  });
}
