/**
 * `node bench/search.mjs [ROUNDS]`: search of 50,000 pods, and what it costs writes. Two servers hold the same pods, and
 * one of them has its index of texts. Both are written to in turn, 200 patches at a time, and the processor time of their
 * main threads is compared, so that it says something on a busy machine, too. Needs Linux, for `/proc`.
 */
import { readFileSync } from 'node:fs';
import { wherry } from './servers.mjs';

const [rounds = '80'] = process.argv.slice(2);
const pods = 50_000;
const podsAtOnce = 1_000;
const warming = 5_000;
const writes = 200;
/** The index is in use while these writes come. */
const roundsASearch = 5;
const typed = [
  ...[
    'a',
    'ap',
    'app',
    'app-4',
    'app-42',
    'app=app-17',
    'shop/app-9:1.3',
    '10.1.77.12',
    'front',
    'deploy app',
  ],
  'nothing is called that',
];

const nameOf = (n) => `app-${n % 100}-${n.toString(36)}`;
const podOf = (n) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: nameOf(n),
    namespace: 'default',
    uid: `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`,
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { app: `app-${n % 100}`, tier: n % 2 ? 'front' : 'back' },
  },
  spec: {
    nodeName: `node-${n % 200}`,
    containers: [{ name: 'main', image: `registry.example/shop/app-${n % 100}:1.${n % 7}` }],
  },
  status: { phase: 'Running', podIP: `10.1.${n >> 8}.${n & 255}` },
});

const print = (figure, value) => console.log(`${figure.padEnd(62)} ${value}`);
const sorted = (figures) => figures.toSorted((a, b) => a - b);
const median = (figures) => sorted(figures)[Math.floor(figures.length / 2)];

/** Processor time of the main thread so far, finer than the ticks of `/proc/PID/stat`. */
function processorUs({ child: { pid } }) {
  const [ns] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
  return Number(ns) / 1_000;
}

async function fill({ url }) {
  for (let begin = 0; begin < pods; begin += podsAtOnce) {
    const objects = Array.from({ length: podsAtOnce }, (_, i) => podOf(begin + i));
    const answer = await fetch(`${url}/wherry/import`, { method: 'POST', body: JSON.stringify({ objects }) });
    const text = await answer.text();
    if (!answer.ok || !text.includes('written')) throw new Error(text);
  }
}

/** Milliseconds until the answer is there, and of the processor for it. */
async function search(server, words, query = '') {
  const [begun, before] = [performance.now(), processorUs(server)];
  const answer = await fetch(`${server.url}/wherry/search?limit=12&q=${encodeURIComponent(words)}${query}`);
  await answer.text();
  if (!answer.ok) throw new Error(`${answer.status}`);
  return { ms: performance.now() - begun, processorMs: (processorUs(server) - before) / 1_000 };
}

let turn = 0;
async function write(server, count) {
  const before = processorUs(server);
  for (let i = 0; i < count; i++, turn++) {
    const answer = await fetch(
      `${server.url}/api/v1/namespaces/default/pods/${nameOf((turn * 7919) % pods)}`,
      {
        method: 'PATCH',
        headers: { 'Content-Type': 'application/merge-patch+json' },
        body: JSON.stringify({ metadata: { labels: { turn: String(turn) } } }),
      },
    );
    await answer.arrayBuffer();
  }
  return (processorUs(server) - before) / count;
}

async function printSearches(server, text, query) {
  const found = [];
  for (let round = 0; round < 5; round++)
    for (const words of typed) found.push(await search(server, words, query));
  const summary = (figures) =>
    `median ${median(figures).toFixed(1)}, longest ${Math.max(...figures).toFixed(1)} ms`;
  print(text, summary(found.map(({ ms }) => ms)));
  print(`${text}, processor`, summary(found.map(({ processorMs }) => processorMs)));
}

const [plain, searched] = await Promise.all([wherry('memory'), wherry('memory')]);
try {
  await Promise.all([fill(plain), fill(searched)]);
  const { newest } = await (await fetch(`${searched.url}/wherry/history`)).json();
  const first = await search(searched, '');
  print('the index is made', `${first.ms.toFixed(0)} ms, ${first.processorMs.toFixed(0)} of the processor`);
  await printSearches(searched, 'search of 50,000 pods');
  for (const server of [plain, searched]) await write(server, warming);
  const costs = { plain: [], searched: [] };
  const after = [];
  for (let round = 0; round < Number(rounds); round++) {
    const both = [
      async () => costs.plain.push(await write(plain, writes)),
      async () => {
        if (round % roundsASearch === 0) after.push((await search(searched, 'app-4')).processorMs);
        costs.searched.push(await write(searched, writes));
      },
    ];
    for (const one of round % 2 ? both : both.reverse()) await one();
  }
  print(
    'search after 1,000 writes, processor',
    `median ${median(after).toFixed(1)}, longest ${Math.max(...after).toFixed(1)} ms`,
  );
  const shares = costs.searched.map((us, round) => us / costs.plain[round] - 1);
  const percent = (share) => `${(share * 100).toFixed(1)} %`;
  print('a write, processor', `${median(costs.plain).toFixed(0)} µs`);
  print('a write beside an index, processor', `${median(costs.searched).toFixed(0)} µs`);
  const [low, high] = [0.25, 0.75].map((part) => sorted(shares)[Math.floor(shares.length * part)]);
  print(
    'what the index adds, median of rounds',
    `${percent(median(shares))} (${percent(low)} to ${percent(high)})`,
  );
  await printSearches(searched, 'search in the past, 21,000 changes ago', `&resourceVersion=${newest}`);
} finally {
  await Promise.all([plain.close(), searched.close()]);
}
