/**
 * A custom kind beside a built-in one of the same size: creates, reads, lists of 100 and watch events per second, in one
 * process in memory; and what a CEL rule adds to a write. `node bench/custom-kinds.mjs` prints both and their ratio, with
 * `--json` as one line of JSON; build first. A number is that of rounds, of which the best counts.
 */
import http from 'node:http';
import { start } from '../dist/index.js';

const asJson = process.argv.includes('--json');
const rounds = Number(process.argv.slice(2).find((argument) => /^\d+$/.test(argument)) ?? 5);
const creates = 3_000;
const reads = 4_000;
const lists = 200;
const connections = 16;

const cluster = await start({ port: 0, store: 'memory', controllers: false });
const { hostname, port } = new URL(cluster.url);
const agent = new http.Agent({ keepAlive: true, maxSockets: connections });

const call = (method, path, body) =>
  new Promise((resolve, reject) => {
    const text = body && JSON.stringify(body);
    const headers = text
      ? { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }
      : {};
    const request = http.request({ hostname, port, method, path, agent, headers }, (response) => {
      response.resume();
      response.on('end', () =>
        response.statusCode < 300
          ? resolve()
          : reject(new Error(`${method} ${path}: ${response.statusCode}`)),
      );
    });
    request.on('error', reject);
    request.end(text);
  });

/** Opens a watch; `done` resolves when it has sent so many events. */
const watched = (path, count) =>
  new Promise((resolve, reject) => {
    const request = http.get({
      hostname,
      port,
      path: `${path}?watch=true&resourceVersion=0`,
    });
    request.on('error', reject);
    request.on('response', (response) => {
      let seen = 0;
      const done = new Promise((finished) => {
        response.on('data', (chunk) => {
          for (const byte of chunk) if (byte === 0x0a) seen++;
          if (seen >= count) {
            request.destroy();
            finished();
          }
        });
      });
      response.on('error', () => undefined);
      resolve({ done });
    });
  });

async function perSecond(count, work) {
  const begin = performance.now();
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: connections }, worker));
  return (count / (performance.now() - begin)) * 1000;
}

const define = (plural, kind, more) =>
  call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.bench.example.com` },
    spec: {
      group: 'bench.example.com',
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { data: { type: 'object', additionalProperties: { type: 'string' }, ...more } },
            },
          },
        },
      ],
    },
  });

await define('maps', 'Map', {});
await define('ruledmaps', 'RuledMap', {
  maxProperties: 100,
  'x-kubernetes-validations': [{ rule: "self.all(key, key.startsWith('key'))", message: 'odd key' }],
});

const kinds = {
  'built-in': { path: '/api/v1/namespaces/default/configmaps', apiVersion: 'v1', kind: 'ConfigMap' },
  custom: {
    path: '/apis/bench.example.com/v1/namespaces/default/maps',
    apiVersion: 'bench.example.com/v1',
    kind: 'Map',
  },
};
const data = Object.fromEntries(
  Array.from({ length: 10 }, (_, i) => [`key${i}`, 'text of a usual length '.repeat(3)]),
);
const ruled = '/apis/bench.example.com/v1/namespaces/default/ruledmaps';
for (;;)
  try {
    await call('GET', kinds.custom.path);
    await call('GET', ruled);
    break;
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }

const best = {};
let made = 0;
for (let round = 0; round < rounds; round++)
  for (const [name, { path, apiVersion, kind }] of Object.entries(kinds)) {
    const first = made;
    made += creates * 2;
    const create = (from) => (i) =>
      call('POST', path, { apiVersion, kind, metadata: { name: `o${from + i}` }, data });
    const figures = {
      create: await perSecond(creates, create(first)),
      read: await perSecond(reads, (i) => call('GET', `${path}/o${first + (i % creates)}`)),
      list: await perSecond(lists, () => call('GET', `${path}?limit=100`)),
    };
    // The watch begins with the objects that are there.
    const present = creates * (2 * round + 1);
    const { done } = await watched(path, present + creates);
    const begin = performance.now();
    await perSecond(creates, create(first + creates));
    await done;
    figures['create and watch'] = (creates / (performance.now() - begin)) * 1000;
    best[name] ??= {};
    for (const [what, value] of Object.entries(figures))
      best[name][what] = Math.max(best[name][what] ?? 0, value);
  }
/** Microseconds of a create beyond one of the same kind without the rule; one after the other, so that none waits. */
let ruleMicros = Number.POSITIVE_INFINITY;
for (let round = 0; round < rounds; round++) {
  const timeOf = async (path, kind) => {
    const begin = performance.now();
    for (let i = 0; i < creates; i++)
      await call('POST', path, {
        apiVersion: 'bench.example.com/v1',
        kind,
        metadata: { name: `one${made++}` },
        data,
      });
    return ((performance.now() - begin) * 1000) / creates;
  };
  const without = await timeOf(kinds.custom.path, 'Map');
  ruleMicros = Math.min(ruleMicros, Math.max(0, (await timeOf(ruled, 'RuledMap')) - without));
}
if (asJson) console.log(JSON.stringify({ ...best, ruleMicros }));
for (const what of asJson ? [] : Object.keys(best.custom)) {
  const [builtin, custom] = [best['built-in'][what], best.custom[what]];
  console.log(
    `${what.padEnd(18)} built-in ${Math.round(builtin)}/s  custom ${Math.round(custom)}/s  ${(custom / builtin).toFixed(2)}`,
  );
}
if (!asJson) console.log(`a rule over ten keys adds ${ruleMicros.toFixed(0)} µs to a write`);
await cluster.close();
process.exit(0);
