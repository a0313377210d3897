/**
 * `node bench/stores/million.mjs [OBJECTS [FOLDER]]`: a server among a million pods of 1.5 KB on `lmdb`, or so many: start to the
 * first answer, memory beyond the text of the objects, processor time of reads, creates and merge patches, of watch
 * events, and of a backup. Of the build in another checkout, when its folder is given. Needs Linux, for `/proc`.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { fanout } from '../fan-out.mjs';
import { podNamed, send } from '../objects.mjs';
import { on, wherry } from '../servers.mjs';
import { bundledStore } from './store-bundle.mjs';

const [given = '1000000', other] = process.argv.slice(2);
const objects = Number(given);
const root = other ? path.resolve(other) : path.resolve(import.meta.dirname, '../..');
const connections = 16;
const requests = 8_000;
const writersMax = 1000;
const pods = '/api/v1/namespaces/default/pods';

const folder = mkdtempSync(path.join(tmpdir(), 'wherry-bench-million-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const dataDir = path.join(folder, 'data');

const say = (figure, value, unit) =>
  console.log(`${figure.padEnd(52)} ${value.toFixed(value < 10 ? 2 : 0).padStart(9)} ${unit}`);

/** What the server stores of a pod: the text that it answers, without the version. */
async function storedText() {
  const server = await wherry('memory', other && root);
  const answer = await fetch(server.url + pods, {
    method: 'POST',
    body: JSON.stringify(podNamed('pod-0000000', 0)),
  });
  const text = (await answer.text()).trimEnd();
  await server.close();
  return text.replace(/,"resourceVersion":"\d+"/, '');
}

/** Fills the store without a server, which takes a quarter of the time, and drops the history. */
async function fillStore(text) {
  const { openLmdbStore } = await bundledStore(folder);
  const store = await openLmdbStore({ dataDir });
  const uid = /"uid":"([^"]+)/.exec(text)[1];
  let next = 0;
  const writer = async () => {
    while (next < objects) {
      const n = next++;
      const name = `pod-${String(n).padStart(7, '0')}`;
      const value = text
        .replaceAll('pod-0000000', name)
        .replace(uid, `${n.toString(16).padStart(8, '0')}${uid.slice(8)}`);
      const key = `core/pods\0default\0${name}`;
      await store.write({ key, value: Buffer.from(value), expected: 0 });
    }
  };
  await Promise.all(Array.from({ length: writersMax }, writer));
  await store.compact(await store.revision());
  await store.close();
}

/** Megabytes of the process's own memory, without the file that is mapped. */
const ownMB = (pid) => Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

const text = await storedText();
const textMB = (objects * text.length) / 2 ** 20;
await fillStore(text);
say(
  `${objects} pods of ${text.length} bytes, data file`,
  statSync(path.join(dataDir, 'data.mdb')).size / 2 ** 20,
  'MB',
);
const server = await on(dataDir, root);
say('start to first answer', server.startMs / 1000, 's');
say('start, processor', server.processorMs / 1000, 's');
say('memory of its own', ownMB(server.child.pid), 'MB');
say('of each object, with its text', (ownMB(server.child.pid) * 1024) / objects, 'KB');
say('of each object, beyond its text', ((ownMB(server.child.pid) - textMB) * 1024) / objects, 'KB');

const agent = new Agent({ keepAlive: true, maxSockets: connections });
async function cost(figure, ask) {
  const round = async (from) => {
    let next = from;
    await Promise.all(
      Array.from({ length: connections }, async () => {
        while (next < from + requests) await ask(next++);
      }),
    );
  };
  await round(0);
  const before = server.processorMs;
  await round(requests);
  say(`${figure}, processor`, ((server.processorMs - before) / requests) * 1000, 'µs');
}
const url = server.url + pods;
const named = (n) => `${url}/pod-${String(n % objects).padStart(7, '0')}`;
await cost('read one', (n) => send(agent, 'GET', named(n)));
await cost('create', (n) => send(agent, 'POST', url, podNamed(`new-${n}`, n)));
await cost('merge patch', (n) =>
  send(
    agent,
    'PATCH',
    named(n),
    { metadata: { annotations: { n: `${n}` } } },
    'application/merge-patch+json',
  ),
);
agent.destroy();
const { eventsPerSecond } = await fanout(server.url, 200, 100);
say('watch, 200 watchers × 100 changes', eventsPerSecond, 'events/s');
say('memory of its own, after that', ownMB(server.child.pid), 'MB');

const cli = path.join(root, 'dist/cli.cjs');
const run = promisify(execFile);
async function timed(figure, ...args) {
  const begun = performance.now();
  await run(process.execPath, [cli, ...args]);
  const seconds = (performance.now() - begun) / 1000;
  say(figure, seconds, 's');
  return seconds;
}
const backup = path.join(folder, 'all.backup');
const seconds = await timed('backup', 'backup', backup, '--server', server.url);
say('backup', statSync(backup).size / 1e6 / seconds, 'MB/s');
await server.close();
await timed('restore', 'restore', backup, '--data-dir', path.join(folder, 'restored'));
