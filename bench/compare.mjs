/**
 * `node bench/compare.mjs FOLDER [store [read,create]] [-- options]`: what requests, or some of them, cost this build
 * and another one, whose checkout is in FOLDER and built, in processor time of the server. This build's server is
 * started with the options behind `--`, such as `--managed-fields off`. Both run at the same time and are asked
 * in turn, in short bursts of sixteen requests that are answered together, so that a machine that is busy with other
 * things slows both down alike. Every figure is the median of the bursts; the quotient is the median of those of bursts
 * that came one after the other. Code is compiled differently in each process, so the whole is done with several pairs
 * of servers. Needs Linux, for `/proc`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { fill, podNamed } from './objects.mjs';
import { wherry } from './servers.mjs';

const given = process.argv.slice(2);
const end = given.includes('--') ? given.indexOf('--') : given.length;
const [other, store = 'memory', only] = given.slice(0, end);
const options = given.slice(end + 1);
if (!other) throw new Error('say which folder holds the other build');
const pairs = Number(process.env.PAIRS ?? 3);
const connections = 16;
const bursts = 20;
const roundsPerBurst = 40;
const warmingBursts = 8;
const pods = '/api/v1/namespaces/default/pods';

const numbered = (prefix, n) => `${pods}/${prefix}-${String(n).padStart(6, '0')}`;
const asks = {
  read: () => ['GET', numbered('pod', 500)],
  create: (n) => ['POST', pods, podNamed(`c-${n}`, 0), 'application/json'],
  'merge patch': (n) => [
    'PATCH',
    numbered('pod', n % 100),
    { metadata: { annotations: { n: `${n}` } } },
    'application/merge-patch+json',
  ],
  delete: (n) => ['DELETE', numbered('gone', n)],
  apply: (n) => [
    'PATCH',
    `${numbered('pod', n % 100)}?fieldManager=bench`,
    { apiVersion: 'v1', kind: 'Pod', metadata: { annotations: { applied: `${n}` } } },
    'application/apply-patch+yaml',
  ],
};

/** One connection that waits for each answer before it asks again. */
class Asker {
  #received = [];
  #missing;
  #answered;

  constructor(url) {
    this.host = new URL(url).host;
    const [address, port] = this.host.split(':');
    this.socket = connect(Number(port), address).setNoDelay(true);
    this.socket.on('data', (chunk) => this.#take(chunk));
    this.socket.on('close', () => this.#answered?.reject(new Error('a connection was closed')));
  }

  ask(method, where, body, type) {
    const text = body ? JSON.stringify(body) : '';
    const about = body ? `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n` : '';
    return new Promise((resolve, reject) => {
      if (this.socket.destroyed) throw new Error('a connection was closed');
      this.#answered = { resolve, reject };
      this.socket.write(`${method} ${where} HTTP/1.1\r\nHost: ${this.host}\r\n${about}\r\n${text}`);
    });
  }

  #take(chunk) {
    this.#received.push(chunk);
    if (this.#missing === undefined) {
      const bytes = Buffer.concat(this.#received);
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = bytes.toString('latin1', 0, end);
      if (!/^HTTP\/1\.1 2/.test(head)) return this.#answered.reject(new Error(String(bytes)));
      this.#missing = end + 4 + Number(/content-length: *(\d+)/i.exec(head)[1]) - bytes.length;
    } else this.#missing -= chunk.length;
    if (this.#missing > 0) return;
    const { resolve } = this.#answered;
    this.#received = [];
    this.#missing = this.#answered = undefined;
    resolve();
  }
}

/** Processor time of all threads of a process, in microseconds: finer than `/proc/PID/stat` tells it. */
function processorUs(pid) {
  const folder = `/proc/${pid}/task`;
  const ns = readdirSync(folder).map((thread) =>
    readFileSync(path.join(folder, thread, 'schedstat'), 'utf8'),
  );
  return ns.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0) / 1000;
}

/** Asks so many times, on all connections together. */
async function burst(side, kind, rounds) {
  for (let round = 0; round < rounds; round++)
    await Promise.all(side.askers.map((asker) => asker.ask(...asks[kind](side.next++))));
}

async function measured(side, kind) {
  const before = processorUs(side.server.child.pid);
  await burst(side, kind, roundsPerBurst);
  return (processorUs(side.server.child.pid) - before) / roundsPerBurst / connections;
}

async function compare(sides, kind) {
  if (kind === 'delete') {
    const count = (bursts + warmingBursts) * roundsPerBurst * connections;
    for (const side of sides) await fill(side.server.url, count, { prefix: 'gone' });
  }
  // After all filling: servers close connections that are idle for a few seconds.
  for (const side of sides) {
    const askers = Array.from({ length: connections }, () => new Asker(side.server.url));
    Object.assign(side, { next: 0, askers });
  }
  for (let i = 0; i < warmingBursts; i++) for (const side of sides) await burst(side, kind, roundsPerBurst);
  const figures = sides.map(() => []);
  for (let i = 0; i < bursts; i++)
    for (const at of i % 2 ? [1, 0] : [0, 1]) figures[at].push(await measured(sides[at], kind));
  for (const { askers } of sides) for (const { socket } of askers) socket.destroy();
  const [before, after] = figures;
  return [before, after, after.map((us, i) => us / before[i])].map(median);
}

const median = (figures) => figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)];

const kinds = Object.keys(asks).filter((kind) => !only || only.split(',').includes(kind));
const results = new Map(kinds.map((kind) => [kind, []]));
for (let pair = 0; pair < pairs; pair++) {
  const sides = [];
  for (const [root, more] of [[path.resolve(other)], [undefined, options]]) {
    const server = await wherry(store, root, more);
    await fill(server.url, 1000);
    sides.push({ server });
  }
  for (const [kind, found] of results) found.push(await compare(sides, kind));
  for (const { server } of sides) await server.close();
}
for (const [kind, found] of results) {
  const [before, after, quotient] = [0, 1, 2].map((at) => median(found.map((figures) => figures[at])));
  console.log(
    `${kind.padEnd(12)} ${store}: ${before.toFixed(0)} → ${after.toFixed(0)} µs, ${quotient.toFixed(3)}`,
  );
}
