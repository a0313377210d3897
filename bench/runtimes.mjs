/**
 * Pods on each runtime of this machine: `node bench/runtimes.mjs IMAGE [--docker-socket FILE] [--cri-socket FILE]
 * [--runtime NAME …]`. The image must have a shell and be there, or be pullable.
 */
import { parseArgs } from 'node:util';
import { nodesReady, timed } from './running-pods.mjs';
import { cluster } from './servers.mjs';

const startCount = 20;
const manyCount = 50;
const execCount = 50;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    'docker-socket': { type: 'string' },
    'cri-socket': { type: 'string' },
    runtime: { type: 'string', multiple: true, default: ['process', 'docker', 'cri'] },
  },
});
const [image] = positionals;
if (!image)
  throw new Error('usage: node bench/runtimes.mjs IMAGE [--docker-socket FILE] [--cri-socket FILE]');
const sockets = ['docker-socket', 'cri-socket'].flatMap((name) =>
  values[name] ? [`--${name}`, values[name]] : [],
);

/** Makes pods until there are this many of them, and waits until all run. */
const run = (url, runtime, before, count) =>
  timed(url, count, () =>
    Promise.all(
      Array.from({ length: count - before }, (_, i) =>
        fetch(`${url}/api/v1/namespaces/default/pods`, {
          method: 'POST',
          body: JSON.stringify({
            metadata: { name: `${runtime}-${before + i}` },
            spec: {
              runtimeClassName: runtime,
              automountServiceAccountToken: false,
              terminationGracePeriodSeconds: 0,
              containers: [
                { name: 'c', image, imagePullPolicy: 'IfNotPresent', command: ['sh', '-c', 'sleep 3600'] },
              ],
            },
          }),
        }).then((answer) => answer.arrayBuffer()),
      ),
    ),
  );

/** Commands one after the other, by the node's own API. */
async function execs(url, pod) {
  const { items } = await (await fetch(`${url}/api/v1/nodes`)).json();
  const path = `/api/v1/nodes/${items[0].metadata.name}/proxy/run/default/${pod}/c?cmd=true`;
  const begun = performance.now();
  for (let i = 0; i < execCount; i++) {
    const answer = await fetch(url + path, { method: 'POST' });
    if (!answer.ok) throw new Error(await answer.text());
    await answer.arrayBuffer();
  }
  return execCount / ((performance.now() - begun) / 1000);
}

const figure = (name, unit, value) => console.log(`| ${name} | ${unit} | ${value.toFixed(1)} |`);

for (const runtime of values.runtime) {
  const server = await cluster('memory', sockets);
  try {
    await nodesReady(server.url, 1);
    figure(`${runtime}: resident without pods`, 'MB', server.residentMB);
    const { runningSeconds } = await run(server.url, runtime, 0, startCount);
    figure(`${runtime}: ${startCount} pods at once, all running`, 's', runningSeconds);
    figure(`${runtime}: commands one after the other`, '1/s', await execs(server.url, `${runtime}-0`));
    await run(server.url, runtime, startCount, manyCount);
    figure(`${runtime}: resident with ${manyCount} pods`, 'MB', server.residentMB);
  } finally {
    await server.close();
  }
}
