/**
 * `npm run bench [-- --quick] [-- --secure] [-- --store NAME]`: the cost of requests; with `--secure`, of requests over
 * TLS; with `--store`, on this store alone, and without the living cluster. `etcd` needs etcd on the path. Servers and
 * load generators run as separate child processes. A bare `node:http` server that answers the same bytes is measured in
 * the same run and is the unit (= 1) of the shares, because machines differ and are noisy. Prints a table, and writes
 * the figures to bench/results.json.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { decisions } from './decisions.mjs';
import { envtestStart } from './envtest.mjs';
import { fanout } from './fan-out.mjs';
import { living } from './living.mjs';
import { fill, podNamed } from './objects.mjs';
import { secureBench } from './secure/secure.mjs';
import { bare, beside, keepCompiledCode, wherry } from './servers.mjs';
import { testKit } from './testing.mjs';
import { acceptLua, applyLua, createLua, deleteLua, measure, patchLua } from './wrk.mjs';

const quick = process.argv.includes('--quick');
const seconds = quick ? 1 : 4;
const deletesPerSecondMax = 12_000;
/** Seconds; short, because what is deleted must be created first. */
const deletingMax = 2;
const rows = [];
const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const asProtobuf = 'application/vnd.kubernetes.protobuf,application/json';

const say = (text) => process.stderr.write(`${text}\n`);

function row(figure, store, value, unit, share) {
  rows.push({
    figure,
    store,
    value: Number(value.toPrecision(4)),
    unit,
    share: share && Number(share.toPrecision(3)),
  });
  say(`  ${figure} (${store}): ${value.toFixed(1)} ${unit}${share ? `, share ${share.toFixed(3)}` : ''}`);
}

/** Yardstick results; a quick run measures one per store. */
const units = new Map();
async function unitOf(yardstick, store) {
  const known = quick && units.get(store);
  const unit = known || (await measure(yardstick.url, { connections: 32, seconds }));
  units.set(store, unit);
  return unit;
}

/** Measures a request and its yardstick right after each other. */
async function compared(figure, store, url, yardstick, options) {
  const before = await unitOf(yardstick, store);
  const result = await measure(url, { seconds, ...options });
  row(figure, store, result.perSecond, 'requests/s', result.perSecond / before.perSecond);
  return result;
}

async function run(store, yardstick) {
  say(`${store}:`);
  let server = await wherry(store);
  row('start to first answer', store, server.startMs, 'ms');
  row('resident, idle', store, server.residentMB, 'MB');
  await fill(server.url, 1000);
  const pods = `${server.url}/api/v1/namespaces/default/pods`;
  await compared('read one, 1 connection', store, `${pods}/pod-000500`, yardstick, { connections: 1 });
  await compared('read one, 32 connections', store, `${pods}/pod-000500`, yardstick, { connections: 32 });
  await fill(server.url, 100, { namespace: 'hundred' });
  const hundred = `${server.url}/api/v1/namespaces/hundred/pods`;
  await compared('list 100', store, hundred, yardstick, { connections: 32 });
  await compared('list 1,000', store, pods, yardstick, { connections: 8 });
  await compared('list 1,000 by label (100 match)', store, `${pods}?labelSelector=group%3Dg3`, yardstick, {
    connections: 32,
  });
  await compared('list 1,000, limit=100', store, `${pods}?limit=100`, yardstick, { connections: 32 });
  await compared('table of 1,000', store, pods, yardstick, { connections: 8, lua: acceptLua(asTable) });
  await compared('read one in protobuf, 32 connections', store, `${pods}/pod-000500`, yardstick, {
    connections: 32,
    lua: acceptLua(asProtobuf),
  });
  await compared('list 1,000 in protobuf', store, pods, yardstick, {
    connections: 8,
    lua: acceptLua(asProtobuf),
  });
  await compared('merge patch, 16 connections', store, pods, yardstick, {
    connections: 16,
    lua: patchLua('/api/v1/namespaces/default/pods/pod-'),
  });
  await compared('apply, 16 connections', store, pods, yardstick, {
    connections: 16,
    lua: applyLua('/api/v1/namespaces/default/pods/pod-'),
  });
  for (const connections of quick ? [1, 16] : [1, 16, 64]) {
    const lua = createLua(podNamed(`c${connections}-@NAME@`, 0));
    const { p99Ms } = await compared(`create, ${connections} connections`, store, pods, yardstick, {
      connections,
      lua,
    });
    row(`create, ${connections} connections, p99`, store, p99Ms, 'ms');
  }
  // More objects than can be deleted in that time.
  const deleting = Math.min(seconds, deletingMax);
  await fill(server.url, deletesPerSecondMax * deleting, { prefix: 'gone' });
  await compared('delete, 16 connections', store, pods, yardstick, {
    connections: 16,
    seconds: deleting,
    lua: deleteLua('/api/v1/namespaces/default/pods/gone-'),
  });
  await server.close();

  for (const [watchers, changes, form] of quick
    ? [
        [200, 100, 'json'],
        [200, 100, 'protobuf'],
      ]
    : [
        [200, 300, 'json'],
        [200, 300, 'protobuf'],
        [2000, 100, 'json'],
      ]) {
    server = await wherry(store);
    const unit = await unitOf(yardstick, store);
    const { eventsPerSecond, p50Ms, p99Ms } = await fanout(server.url, watchers, changes, form);
    const name = `watch${form === 'json' ? '' : ` in ${form}`}, ${watchers} watchers × ${changes} changes`;
    row(name, store, eventsPerSecond, 'events/s', eventsPerSecond / unit.perSecond);
    row(`${name}, p50 after the answer`, store, p50Ms, 'ms');
    row(`${name}, p99 after the answer`, store, p99Ms, 'ms');
    await server.close();
  }
  for (const count of quick ? [] : [10_000, 100_000]) await many(store, yardstick, count);
}

/** Milliseconds until a whole answer is there. */
async function answerMs(url, accept) {
  const begun = performance.now();
  const answer = await fetch(url, { headers: { Accept: accept, 'Accept-Encoding': 'identity' } });
  await answer.arrayBuffer();
  return performance.now() - begun;
}

/** Costs with many objects: with ten times as many, each should cost the same. */
async function many(store, yardstick, count) {
  const server = await wherry(store);
  const among = `among ${count.toLocaleString('en')} pods`;
  const pods = `${server.url}/api/v1/namespaces/default/pods`;
  const begun = performance.now();
  await fill(server.url, count);
  row(
    `filling with ${count.toLocaleString('en')} pods`,
    store,
    (count / (performance.now() - begun)) * 1000,
    'pods/s',
  );
  row(`resident, ${among}`, store, server.residentMB, 'MB');
  await compared(`read one, ${among}`, store, `${pods}/pod-000500`, yardstick, { connections: 32 });
  await compared(`list with limit=100, ${among}`, store, `${pods}?limit=100`, yardstick, { connections: 32 });
  await compared(`merge patch, ${among}`, store, pods, yardstick, {
    connections: 16,
    lua: patchLua('/api/v1/namespaces/default/pods/pod-'),
  });
  await compared(`create, ${among}`, store, pods, yardstick, {
    connections: 16,
    lua: createLua(podNamed('many-@NAME@', 0)),
  });
  const { perSecond } = await compared(`list all, ${among}`, store, pods, yardstick, { connections: 1 });
  row(`list all, for each object, ${among}`, store, 1e6 / perSecond / count, 'µs');
  if (store === 'etcd') {
    const second = await beside(server);
    row(`start of another server, ${among}`, store, second.startMs, 'ms');
    row(`resident, after its start, ${among}`, store, second.residentMB, 'MB');
    await second.close();
  }
  for (const [name, accept] of [
    ['table', asTable],
    ['list in protobuf', asProtobuf],
  ]) {
    row(`${name} of all, the first, ${among}`, store, await answerMs(pods, accept), 'ms');
    const times = [];
    for (let i = 0; i < 5; i++) times.push(await answerMs(pods, accept));
    row(`${name} of all, those after it, ${among}`, store, times.sort((a, b) => a - b)[2], 'ms');
  }
  await server.close();
}

/** The figures of another benchmark, which runs as a process of its own. */
async function figuresOf(file, parameters) {
  const { stdout } = await promisify(execFile)(process.execPath, [
    path.join(import.meta.dirname, file),
    '--json',
    ...parameters,
  ]);
  return JSON.parse(stdout);
}

/** What does not depend on the store. */
async function others() {
  say('the programs of wherry envtest:');
  const { startMs, usedMs } = await envtestStart(quick ? 1 : undefined);
  row('drop-in for envtest, to a healthy server', 'lmdb', startMs, 'ms');
  row('drop-in for envtest, processor time of both', 'lmdb', usedMs, 'ms');
  say('decisions, with 1,000 roles and 10,000 bindings:');
  for (const [name, value] of Object.entries((await decisions()).figures))
    row(`decision, ${name}`, 'memory', value, 'µs');
  say('the test kit:');
  await testKit(row);
  say('custom kinds, rules and webhooks:');
  const custom = await figuresOf('custom-kinds.mjs', [quick ? '1' : '3']);
  for (const [what, value] of Object.entries(custom.custom)) {
    row(`custom kind, ${what}`, 'memory', value, 'per s');
    row(`custom kind, ${what}, of a built-in kind`, 'memory', (100 * value) / custom['built-in'][what], '%');
  }
  row('a CEL rule over ten keys, for each write', 'memory', custom.ruleMicros, 'µs');
  const hooks = await figuresOf('webhooks.mjs', quick ? ['--quick'] : []);
  row('a webhook that is not asked, for each write', 'memory', (hooks.beside - hooks.bare) * 1000, 'µs');
  row(
    'a webhook beside its own time, for each write',
    'memory',
    (hooks.asked - hooks.bare - hooks.own) * 1000,
    'µs',
  );
  say('the secure door:');
  await secureBench(row, { seconds: quick ? 1 : seconds });
  say('the living cluster:');
  await living(row, {
    quick,
    yardstick: async () => (await measure(yardstick.url, { connections: 32, seconds })).perSecond,
  });
}

await keepCompiledCode();
if (process.argv.includes('--secure')) {
  await secureBench(row, { seconds });
  process.exit();
}
const yardstick = await bare(1500);
say(
  `${cpus()[0].model.trim()}, ${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.version}`,
);
const only = process.argv[process.argv.indexOf('--store') + 1 || process.argv.length];
for (const store of only ? only.split(',') : ['lmdb', 'memory']) await run(store, yardstick);
if (!only) await others();
await yardstick.close();

const width = Math.max(...rows.map(({ figure }) => figure.length));
for (const { figure, store, value, unit, share } of rows)
  console.log(
    `${figure.padEnd(width)}  ${store.padEnd(6)}  ${String(value).padStart(9)} ${unit.padEnd(10)} ${share ?? ''}`,
  );
writeFileSync(
  path.join(import.meta.dirname, 'results.json'),
  `${JSON.stringify({ command: `npm run bench${quick ? ' -- --quick' : ''}`, node: process.version, cores: availableParallelism(), rows }, null, 2)}\n`,
);
