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

/** Milliseconds on the clock, and of the processor: the latter says more on a busy machine. */
async function took(work) {
  const begun = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { ms: performance.now() - begun, cpuMs: (user + system) / 1000 };
}

async function repeated(work) {
  const figures = [];
  for (let i = 0; i < rounds; i++) figures.push(await work(i));
  return { ms: median(figures.map(({ ms }) => ms)), cpuMs: median(figures.map(({ cpuMs }) => cpuMs)) };
}

const rows = (figure, { ms, cpuMs }) => [
  [figure, ms],
  [`${figure}, processor time`, cpuMs],
];

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
    const figure = await took(async () => {
      cluster = await testCluster();
    });
    await cluster.close();
    return figure;
  });
  return [...rows('test cluster, the first of a process', first), ...rows('test cluster', later)];
}

/** Half of the objects, at most 100, change before every restore, and a watch of a client is open. */
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
    const figure = await took(() => cluster.restore('state-0'));
    end();
    return figure;
  });
  const reset = await repeated(async () => {
    const end = await change();
    const figure = await took(() => cluster.reset());
    end();
    return figure;
  });
  const forked = await repeated(async () => {
    let fork;
    const figure = await took(async () => {
      fork = await cluster.fork();
    });
    await fork.close();
    return figure;
  });
  await cluster.close();
  return [
    ...rows(name('snapshot'), snapshot),
    ...rows(name('restore'), restored),
    ...rows(name('reset'), reset),
    ...rows(name('fork'), forked),
  ];
}

async function many({ testCluster }) {
  globalThis.gc();
  const before = process.memoryUsage();
  const clusters = [];
  const all = await took(async () => {
    for (let i = 0; i < clustersMax; i++) clusters.push(await testCluster());
  });
  globalThis.gc();
  const { rss, heapUsed } = process.memoryUsage();
  await Promise.all(clusters.map((cluster) => cluster.close()));
  return [
    ...rows(`${clustersMax} test clusters in one process, one after the other`, all),
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
