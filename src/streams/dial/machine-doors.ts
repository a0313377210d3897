/**
 * The doors of this machine: the ports at which Wherry servers listen here, including those of other processes and
 * users. Users choose where proxies, port-forwards, services, ingresses and probes connect to. They must not reach a
 * door that way: the local door trusts every program of this machine as its owner. So each door leaves a mark that all
 * processes can see, and `dialing.ts` looks for marks before it connects to an address of this machine.
 *
 * A mark is a listening socket whose name contains the port. The system removes it when its process ends. On Linux the
 * name is in the abstract namespace, which all users share; elsewhere it is a file in the folder for temporary files.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, unlink } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import path from 'node:path';
import { type Address, parseCIDR, parseIP } from '../../api/values/addresses.ts';
import { platform } from '../../platform.ts';

/** Lists every abstract socket of this network namespace, one per line, with an @ before its name. */
const socketTable = '/proc/net/unix';
const folder = path.join(tmpdir(), 'wherry-doors');

/** How long the addresses of this machine are kept: the system takes a millisecond or two where there are many pods. */
const ownMs = 500;

/** How many doors of this process listen at each port: several may, at different addresses. */
const ownPorts = new Map<number, number>();

/**
 * Marks a port at which a door listens; resolves when other processes can see the mark. Call the returned function when
 * the door closes.
 */
export async function markDoor(port: number): Promise<() => void> {
  ownPorts.set(port, (ownPorts.get(port) ?? 0) + 1);
  // The mark accepts no connections, and does not keep the process alive.
  const mark = createServer((socket) => socket.destroy()).unref();
  await listening(mark, await nameOf(port));
  let isOpen = true;
  return () => {
    if (!isOpen) return;
    isOpen = false;
    const left = ownPorts.get(port)! - 1;
    if (left) ownPorts.set(port, left);
    else ownPorts.delete(port);
    mark.close();
  };
}

/** The name of a mark. A random part distinguishes doors at the same port. */
async function nameOf(port: number): Promise<string> {
  const own = `${port}/${randomBytes(6).toString('hex')}`;
  if (platform.isLinux) return `\0wherry/door/${own}`;
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => undefined);
  return path.join(folder, own.replace('/', '-'));
}

/** Listens, or ignores the error: where such sockets are forbidden, doors are known in this process only. */
const listening = (mark: ReturnType<typeof createServer>, name: string): Promise<void> =>
  new Promise((resolve) => {
    mark.once('error', () => resolve());
    mark.listen(name, resolve);
  });

/** Whether a connection to one of these addresses could lead to a door of this machine. */
export async function isDoor(addresses: readonly string[], port: number): Promise<boolean> {
  if (!addresses.some(isOwn)) return false;
  if (ownPorts.has(port)) return true;
  return platform.isLinux ? isInTable(port) : isInFolder(port);
}

async function isInTable(port: number): Promise<boolean> {
  const table = await readFile(socketTable, 'latin1').catch(() => '');
  return table.includes(` @wherry/door/${port}/`);
}

async function isInFolder(port: number): Promise<boolean> {
  const names = await readdir(folder).catch(() => []);
  const marks = names.filter((name) => name.startsWith(`${port}-`)).map((name) => path.join(folder, name));
  return (await Promise.all(marks.map(isAlive))).includes(true);
}

/** Whether a process still listens at a mark. The file of a killed process is removed. */
const isAlive = (mark: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(mark)
      .once('connect', () => {
        socket.destroy();
        resolve(true);
      })
      .once('error', () => {
        unlink(mark).catch(() => undefined);
        resolve(false);
      });
  });

/** Ranges that mean this machine everywhere; 0.0.0.0 and :: lead to loopback. */
const ownRanges = ['0.0.0.0/8', '127.0.0.0/8', '::/127'].map((text) => parseCIDR(text)!);

function isOwn(text: string): boolean {
  const address = parseIP(text.replace(/%.*$/, ''));
  // Text that is not an address could lead anywhere.
  if (!address) return true;
  if (
    ownRanges.some(({ family, first, last }) => family === address.family && isWithin(address, first, last))
  )
    return true;
  return ownAddresses().some(({ family, value }) => family === address.family && value === address.value);
}

let own: readonly Address[] = [];
let ownReadMs = Number.NEGATIVE_INFINITY;

/** The addresses of this machine's networks. */
export function ownAddresses(): readonly Address[] {
  const nowMs = performance.now();
  if (nowMs - ownReadMs > ownMs) {
    ownReadMs = nowMs;
    own = Object.values(networkInterfaces())
      .flatMap((list = []) => list.map(({ address }) => parseIP(address.replace(/%.*$/, ''))))
      .filter((address) => address !== undefined);
  }
  return own;
}

const isWithin = ({ value }: Address, first: bigint, last: bigint): boolean =>
  first <= value && value <= last;
