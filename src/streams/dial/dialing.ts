/**
 * Opens TCP connections for users, to addresses that were checked with `target-address.ts`. Every connection whose
 * target a user can choose is opened here. None leads to a door (a listening port) of a Wherry server on this machine.
 */
import { isIP, type Socket } from 'node:net';
import { reusingSocket } from '../bytes/reused-reads.ts';
import { isDoor } from './machine-doors.ts';
import { dialError, dialTimeout } from './net-error.ts';
import { addressNotAllowed, systemLookup } from './target-address.ts';

/** Default timeout of connecting to one address. */
const dialMs = 10_000;
/** TCP keep-alive interval, to find dead peers. */
const keepAliveMs = 30_000;

/**
 * Tries the addresses in order; throws the error of the first when all fail. A name is resolved once, and what it
 * resolved to is checked and dialled.
 */
export async function dialTcp(
  hosts: readonly string[],
  port: number,
  timeoutMs?: () => number,
): Promise<Socket> {
  const addresses = hosts.every((host) => isIP(host))
    ? hosts
    : (await Promise.all(hosts.map((host) => (isIP(host) ? [host] : systemLookup(host))))).flat();
  if (await isDoor(addresses, port)) throw addressNotAllowed();
  return dialDoor(addresses, port, timeoutMs);
}

/** Like `dialTcp`, but the address may be a door: for the service `kubernetes`, which leads to one on purpose. */
export async function dialDoor(
  addresses: readonly string[],
  port: number,
  timeoutMs: () => number = () => dialMs,
): Promise<Socket> {
  let failure: Error | undefined;
  for (const address of addresses) {
    try {
      return await dialAddress(address, port, timeoutMs());
    } catch (error) {
      failure ??= error as Error;
    }
  }
  throw failure ?? new Error('dial tcp: missing address');
}

function dialAddress(host: string, port: number, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    // A peer that has ended its side may still receive.
    const socket = reusingSocket({ allowHalfOpen: true }).connect({
      host,
      port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: keepAliveMs,
    });
    const fail = (error: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    const timer = setTimeout(() => fail(dialTimeout(host, port)), timeoutMs);
    const failed = (error: Error): void => fail(dialError(host, port, error));
    socket.once('error', failed).once('connect', () => {
      clearTimeout(timer);
      socket.off('error', failed);
      resolve(socket);
    });
  });
}
