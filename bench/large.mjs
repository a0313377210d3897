/** A large cluster: 20,000 pods on 1,000 simulated nodes, until all run, and what it costs when nothing happens. */
import { nodesReady, replicate } from './running-pods.mjs';
import { cluster } from './servers.mjs';

const nodes = 1_000;
const pods = 20_000;
/** Until the controllers have written what they have to say. */
const settleMs = 10_000;
/** One renewal of every lease, and more. */
const idleMs = 30_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function large(row) {
  const server = await cluster('memory', ['--simulated-nodes', String(nodes)]);
  await nodesReady(server.url, nodes);
  const { boundSeconds, runningSeconds } = await replicate(server.url, pods);
  const name = `${pods} pods onto ${nodes} simulated nodes`;
  row(`${name}, all bound`, 'memory', boundSeconds, 's');
  row(`${name}, all running`, 'memory', runningSeconds, 's');
  await pause(settleMs);
  const before = server.processorMs;
  await pause(idleMs);
  row(`${name}, idle, processor`, 'memory', (server.processorMs - before) / (idleMs / 1000), 'ms/s');
  row(`${name}, idle, resident`, 'memory', server.residentMB, 'MB');
  await server.close();
}
