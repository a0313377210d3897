/**
 * The doors of this machine: the ports at which Wherry servers answer here, those of other processes and other users
 * among them. Proxies, port-forwards, services, ingresses and probes are directed by users, who must not come in
 * through them: the local door takes every program of this machine for its owner. So a door leaves a mark that all
 * others see, and `dialing.ts` asks here before it connects to an address of this machine.
 *
 * A mark is a socket whose name has the port. The system removes it with its process, however that ends. On Linux names
 * are in the abstract namespace, which all users share; elsewhere they are files in the folder for temporary files.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, unlink } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { networkInterfaces, platform, tmpdir } from 'node:os';
import path from 'node:path';
import { type Address, parseCIDR, parseIP } from '../../api/values/addresses.ts';

/** Every abstract socket of this network namespace, a line each, with an @ before its name. */
const socketTable = '/proc/net/unix';
const isLinux = platform() === 'linux';
const folder = path.join(tmpdir(), 'wherry-doors');

/** How many doors of this process answer at a port: several may, at different addresses. */
const ownPorts = new Map<number, number>();

/** Called when a door listens; resolves when others see it. What it returns is called when the door closes. */
export async function markDoor(port: number): Promise<() => void> {
  ownPorts.set(port, (ownPorts.get(port) ?? 0) + 1);
  // A door neither answers here nor keeps its process alive.
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

/** Doors of the same port are told apart by chance. */
async function nameOf(port: number): Promise<string> {
  const own = `${port}/${randomBytes(6).toString('hex')}`;
  if (isLinux) return `\0wherry/door/${own}`;
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => undefined);
  return path.join(folder, own.replace('/', '-'));
}

/** A machine may forbid such sockets; then the doors are known in this process alone. */
const listening = (mark: ReturnType<typeof createServer>, name: string): Promise<void> =>
  new Promise((resolve) => {
    mark.once('error', () => resolve());
    mark.listen(name, resolve);
  });

/** Whether a connection to one of these addresses could lead to a door of this machine. */
export async function isDoor(addresses: readonly string[], port: number): Promise<boolean> {
  if (!addresses.some(isOwn)) return false;
  if (ownPorts.has(port)) return true;
  return isLinux ? isInTable(port) : isInFolder(port);
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

/** A process that was killed leaves its files, where no process answers. */
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

/** Addresses that mean this machine everywhere; 0.0.0.0 and :: lead to loopback. */
const ownRanges = ['0.0.0.0/8', '127.0.0.0/8', '::/127'].map((text) => parseCIDR(text)!);

function isOwn(text: string): boolean {
  const address = parseIP(text.replace(/%.*$/, ''));
  // What is no address could be anything.
  if (!address) return true;
  if (
    ownRanges.some(({ family, first, last }) => family === address.family && isWithin(address, first, last))
  )
    return true;
  return Object.values(networkInterfaces()).some((list) =>
    list?.some((one) => {
      const own = parseIP(one.address);
      return own?.family === address.family && own.value === address.value;
    }),
  );
}

const isWithin = ({ value }: Address, first: bigint, last: bigint): boolean =>
  first <= value && value <= last;
