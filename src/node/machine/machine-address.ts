/** The address of this machine by which others reach it, and whether an address is one of its own. */
import { networkInterfaces } from 'node:os';

/** Names of bridges of nodes on this machine, which are skipped. */
const ownInterface = /^wh[0-9a-f]{8}/;

/** Whether a listener at this address listens at all addresses of the machine. */
export const isEveryAddress = (host: string): boolean => host === '0.0.0.0' || host === '::';

/** Whether an address is one of this machine's. */
export const isOwnAddress = (ip: string): boolean =>
  Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === ip));

/** The first address that is not loopback; else loopback. */
export function machineAddress(): string {
  for (const [name, addresses] of Object.entries(networkInterfaces()))
    for (const { address, family, internal } of addresses ?? [])
      if (!ownInterface.test(name) && family === 'IPv4' && !internal && !address.startsWith('169.254.'))
        return address;
  return '127.0.0.1';
}
