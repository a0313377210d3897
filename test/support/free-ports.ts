/** Ports for programs that must be told theirs. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that systems give to connections and to servers that ask for any, and those of services on nodes: what
 * is free here stays free until its program listens, unless another worker happens to choose it.
 */
const [portMin, portMax] = [20_000, 30_000];
const handedOut = new Set<number>();

/** Different ports of loopback that are free now, and were handed out to nobody in this process. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = randomInt(portMin, portMax);
    if (handedOut.has(port)) continue;
    handedOut.add(port);
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  await new Promise((resolve) => server.close(resolve));
  return true;
}
