/**
 * The test kit: how long a test waits for a cluster, a snapshot, a restore, a fork and a reset, at several numbers of
 * objects, and what 100 clusters in one process take. Medians of ten, in a process of its own. Run with: node
 * bench/testing.mjs (after npm run build); `npm run bench` includes it.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const rounds = 10;
const clustersMax = 100;
const counts = [10, 1_000, 10_000];

const median = (figures) => [...figures].sort((a, b) => a - b)[Math.floor(figures.length / 2)];

async function took(work) {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

async function repeated(work) {
  const figures = [];
  for (let i = 0; i < rounds; i++) figures.push(await work(i));
  return median(figures);
}

const object = (i) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `object-${i}` },
  data: { text: 'x'.repeat(500) },
});

async function starting({ testCluster }) {
  const first = await took(async () => (await testCluster()).close());
  const later = await repeated(async () => {
    let cluster;
    const ms = await took(async () => {
      cluster = await testCluster();
    });
    await cluster.close();
    return ms;
  });
  return [
    ['test cluster, the first of a process', first],
    ['test cluster', later],
  ];
}

/** Half of the objects change before every restore, and a watch of a client is open. */
async function states({ testCluster }, count) {
  const cluster = await testCluster({ fixtures: Array.from({ length: count }, (_, i) => object(i)) });
  const url = `${cluster.url}/api/v1/configmaps`;
  const change = async () => {
    const abort = new AbortController();
    const watch = await fetch(`${url}?watch=true&resourceVersion=0`, { signal: abort.signal });
    await watch.body.getReader().read();
    const few = Array.from({ length: Math.min(count / 2, 100) }, (_, i) => ({
      ...object(i),
      data: { a: '1' },
    }));
    await cluster.apply(few);
    return () => abort.abort();
  };
  const name = (what) => `${what}, ${count.toLocaleString('en')} objects`;
  const snapshot = await repeated((i) => took(() => cluster.snapshot(`state-${i}`)));
  const restored = await repeated(async () => {
    const end = await change();
    const ms = await took(() => cluster.restore('state-0'));
    end();
    return ms;
  });
  const reset = await repeated(async () => {
    const end = await change();
    const ms = await took(() => cluster.reset());
    end();
    return ms;
  });
  const forked = await repeated(async () => {
    let fork;
    const ms = await took(async () => {
      fork = await cluster.fork();
    });
    await fork.close();
    return ms;
  });
  await cluster.close();
  return [
    [name('snapshot'), snapshot],
    [name('restore'), restored],
    [name('reset'), reset],
    [name('fork'), forked],
  ];
}

async function many({ testCluster }) {
  globalThis.gc();
  const before = process.memoryUsage();
  const clusters = [];
  const ms = await took(async () => {
    for (let i = 0; i < clustersMax; i++) clusters.push(await testCluster());
  });
  globalThis.gc();
  const { rss, heapUsed } = process.memoryUsage();
  await Promise.all(clusters.map((cluster) => cluster.close()));
  return [
    [`${clustersMax} test clusters in one process, one after the other`, ms],
    [`resident for each of ${clustersMax} test clusters`, (rss - before.rss) / clustersMax / 2 ** 20, 'MB'],
    [
      `heap for each of ${clustersMax} test clusters`,
      (heapUsed - before.heapUsed) / clustersMax / 2 ** 20,
      'MB',
    ],
  ];
}

/** Measures in a process of its own. @param row adds a figure: name, store, value, unit */
export async function testKit(row) {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc',
    fileURLToPath(import.meta.url),
    '--json',
  ]);
  for (const [figure, value, unit = 'ms'] of JSON.parse(stdout)) row(figure, 'memory', value, unit);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (!globalThis.gc)
    await testKit((figure, _, value, unit) => console.log(`${figure}: ${value.toFixed(1)} ${unit}`));
  else {
    const kit = await import('../dist/testing.js');
    const figures = [...(await starting(kit)), ...(await many(kit))];
    for (const count of counts) figures.push(...(await states(kit, count)));
    console.log(JSON.stringify(figures));
  }
}
