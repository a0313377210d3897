/**
 * `node bench/forms.mjs [FOLDER]`: what answers in several forms cost, in processor time of the server, so that it says
 * something on a busy machine, too: reads, lists of 1,000 and 10,000 pods, and tables of them. Of the build in another
 * checkout, when its folder is given. Needs Linux, for `/proc`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import path from 'node:path';
import { fill } from './objects.mjs';
import { wherry } from './servers.mjs';

const connections = 8;
const rounds = 5;
const forms = {
  JSON: 'application/json',
  protobuf: 'application/vnd.kubernetes.protobuf,application/json',
  table: 'application/json;as=Table;v=v1;g=meta.k8s.io',
};

const [other] = process.argv.slice(2);
const server = await wherry('memory', other && path.resolve(other));
const agent = new Agent({ keepAlive: true, maxSockets: connections });

/** Processor time of all threads, in microseconds. */
function processorUs() {
  const folder = `/proc/${server.child.pid}/task`;
  const ns = readdirSync(folder).map((thread) =>
    readFileSync(path.join(folder, thread, 'schedstat'), 'utf8'),
  );
  return ns.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0) / 1000;
}

const get = (where, accept) =>
  new Promise((resolve, reject) => {
    const sent = request(server.url + where, { agent, headers: { Accept: accept } }, (answer) =>
      answer.resume().on('end', resolve).on('error', reject),
    );
    sent.on('error', reject).end();
  });

async function cost(where, form, count) {
  const before = processorUs();
  for (let i = 0; i < count; i += connections)
    await Promise.all(
      Array.from({ length: Math.min(connections, count - i) }, () => get(where, forms[form])),
    );
  return (processorUs() - before) / count;
}

const median = (figures) => figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)];
const say = (figure, us) => console.log(`${figure.padEnd(40)} ${us.toFixed(0).padStart(8)} µs`);

const pods = (namespace) => `/api/v1/namespaces/${namespace}/pods`;
await fill(server.url, 1000);
const figures = new Map();
for (let round = 0; round <= rounds; round++)
  for (const [figure, where, form, count] of [
    ['read one, JSON', `${pods('default')}/pod-000500`, 'JSON', 2000],
    ['read one, protobuf', `${pods('default')}/pod-000500`, 'protobuf', 2000],
    ['list 1,000, JSON', pods('default'), 'JSON', 160],
    ['list 1,000, protobuf', pods('default'), 'protobuf', 160],
    ['table of 1,000', pods('default'), 'table', 80],
  ]) {
    const us = await cost(where, form, count);
    // The first round warms up.
    if (round > 0) figures.set(figure, [...(figures.get(figure) ?? []), us]);
  }
for (const [figure, all] of figures) say(figure, median(all));
await fill(server.url, 10_000, { namespace: 'many' });
for (const [name, form] of [
  ['list 10,000, JSON', 'JSON'],
  ['list 10,000, protobuf', 'protobuf'],
  ['table of 10,000', 'table'],
]) {
  say(`${name}, the first`, await cost(pods('many'), form, 1));
  const after = [];
  for (let i = 0; i < rounds; i++) after.push(await cost(pods('many'), form, 1));
  say(`${name}, those after it`, median(after));
}
agent.destroy();
await server.close();
