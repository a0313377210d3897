/** The living cluster: how fast pods are scheduled and started, what streams cost, and what an idle cluster costs. */
import { large } from './large.mjs';
import { nodesReady, replicate, runPods } from './running-pods.mjs';
import { cluster } from './servers.mjs';
import { streams } from './streams/streams.mjs';

const simulatedNodes = 100;
/** A quick run has a fifth of the pods. */
const podsOf = (quick) =>
  quick ? { simulatedPods: 200, sleepers: 20 } : { simulatedPods: 1_000, sleepers: 100 };
/** Until the first statuses of the pods are written. */
const settleMs = 3_000;

async function placing(row, store, yardstick, simulatedPods) {
  const server = await cluster(store, ['--simulated-nodes', String(simulatedNodes)]);
  await nodesReady(server.url, simulatedNodes);
  const perSecond = await yardstick();
  const { boundSeconds, runningSeconds } = await replicate(server.url, simulatedPods);
  const name = `${simulatedPods} pods onto ${simulatedNodes} simulated nodes`;
  row(`${name}, all bound`, store, boundSeconds, 's', simulatedPods / boundSeconds / perSecond);
  row(`${name}, all running`, store, runningSeconds, 's', simulatedPods / runningSeconds / perSecond);
  row(`resident with ${simulatedPods} simulated pods`, store, server.residentMB, 'MB');
  await server.close();
}

async function idling(row, seconds, sleepers) {
  const server = await cluster('memory');
  const sleep = Array.from({ length: sleepers }, (_, i) => ({
    name: `sleeper-${i}`,
    command: ['sleep', '3600'],
  }));
  const { runningSeconds } = await runPods(server.url, sleep);
  row(`${sleepers} processes as pods, all running`, 'memory', runningSeconds, 's');
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  const before = server.processorMs;
  const begun = performance.now();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const used = (server.processorMs - before) / ((performance.now() - begun) / 1000);
  row(`idle with ${sleepers} processes, processor`, 'memory', used, 'ms/s');
  row(`idle with ${sleepers} processes, resident`, 'memory', server.residentMB, 'MB');
  await server.close();
}

/** `yardstick` measures the requests per second of the bare server. */
export async function living(row, { quick, yardstick }) {
  const { simulatedPods, sleepers } = podsOf(quick);
  for (const store of quick ? ['memory'] : ['lmdb', 'memory'])
    await placing(row, store, yardstick, simulatedPods);
  await streams(row, quick ? { bytes: 50e6, rounds: 1 } : { bytes: 200e6, rounds: 9 });
  await idling(row, quick ? 3 : 20, sleepers);
  if (!quick) await large(row);
}
