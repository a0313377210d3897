/**
 * `node bench/tails/tails.mjs [--seconds N] [--turns] [--build FOLDER]`: writes at one, sixteen and 64 connections on
 * `lmdb`: median and slowest percent, beside one `fdatasync` of 4 KB on the same disk and in the same run; then the same
 * with 200 watchers, tables, metrics and trimmed history beside them. With `--turns` the longest turns of the event
 * loop are printed, with what ran in them; with `--trace`, where requests spent their time. Needs `wrk`.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { fill, podNamed } from '../objects.mjs';
import { wherry } from '../servers.mjs';
import { createLua, deleteLua, measure, patchLua } from '../wrk.mjs';

const syncs = 400;
const pageBytes = 4096;
const deletesPerSecondMax = 14_000;
const deletesAloneMax = 6000;

const median = (figures) => figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)];

/** Median milliseconds of writing a page at the end of a file and syncing it. */
export function syncMs() {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-sync-'));
  const file = openSync(path.join(folder, 'file'), 'w');
  const page = Buffer.alloc(pageBytes, 1);
  const times = Array.from({ length: syncs }, () => {
    const begun = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    return performance.now() - begun;
  });
  closeSync(file);
  rmSync(folder, { recursive: true });
  return median(times);
}

const pods = '/api/v1/namespaces/default/pods';
const verbs = {
  create: (connections) => createLua(podNamed(`c${connections}-@NAME@`, 0)),
  'merge patch': () => patchLua(`${pods}/pod-`),
  delete: (connections) => deleteLua(`${pods}/gone${connections}-`),
};

async function traceOf(server) {
  const answer = await fetch(`${server.url}/wherry/trace`, { method: 'DELETE' });
  return answer.ok ? answer.text() : '';
}

/** What else is asked while writes are measured; the function ends it. */
async function company(server) {
  const watchers = fork(path.join(import.meta.dirname, 'company.mjs'), [server.url]);
  await once(watchers, 'message');
  return async () => {
    watchers.kill();
    await once(watchers, 'exit');
  };
}

async function longestTurns(server, file) {
  rmSync(file, { force: true });
  process.kill(server.child.pid, 'SIGUSR2');
  while (!existsSync(file) || readFileSync(file).length === 0)
    await new Promise((resolve) => setTimeout(resolve, 50));
  await new Promise((resolve) => setTimeout(resolve, 50));
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** Calls `row(figure, value, unit)` with each figure. */
export async function tails(row, { seconds = 3, turns = false, trace = false, build, only } = {}) {
  const file = path.join(tmpdir(), `wherry-turns-${process.pid}.json`);
  if (turns) {
    process.env.NODE_OPTIONS = `--import ${path.join(import.meta.dirname, 'turn-watch.mjs')}`;
    process.env.TURNS_FILE = file;
  }
  const server = await wherry('lmdb', build, [
    ...(trace ? ['--trace-requests'] : []),
    '--history',
    '10m,3000',
  ]);
  delete process.env.NODE_OPTIONS;
  await fill(server.url, 1000);
  for (const beside of [false, true]) {
    const end = beside ? await company(server) : undefined;
    for (const connections of beside ? [16, 64] : [1, 16, 64])
      for (const [verb, lua] of Object.entries(verbs)) {
        if (only && !only.split(',').includes(verb)) continue;
        const name = `${verb}, ${connections} connections${beside ? ', in company' : ''}`;
        const prefix = `gone${connections}${beside ? 'c' : ''}`;
        const deleting = verb === 'delete' ? Math.min(seconds, connections === 1 ? 3 : 1) : seconds;
        if (verb === 'delete')
          await fill(server.url, (connections === 1 ? deletesAloneMax : deletesPerSecondMax) * deleting, {
            prefix,
          });
        await traceOf(server);
        if (turns) await longestTurns(server, file);
        const sync = connections === 1 ? syncMs() : undefined;
        const found = await measure(`${server.url}${pods}`, {
          connections,
          seconds: deleting,
          lua: beside ? lua(`${connections}c`) : lua(connections),
        });
        row(name, found, sync);
        if (trace) console.log(await traceOf(server));
        if (turns) {
          const { above10, turns: longest } = await longestTurns(server, file);
          console.log(`  ${above10} turns above 10 ms`);
          for (const { ms, ran, itself } of longest.slice(0, 3))
            console.log(
              `  turn of ${ms.toFixed(1)} ms\n    ran ${ran.join(', ')}\n    itself ${itself.join(', ')}`,
            );
        }
      }
    await end?.();
  }
  await server.close();
  rmSync(file, { force: true });
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string' },
      turns: { type: 'boolean' },
      trace: { type: 'boolean' },
      build: { type: 'string' },
      only: { type: 'string' },
    },
  });
  await tails(
    (name, { perSecond, p50Ms, p99Ms }, sync) =>
      console.log(
        `${name.padEnd(36)} ${perSecond.toFixed(0).padStart(6)}/s  median ${p50Ms.toFixed(2)}  p99 ${p99Ms.toFixed(2)} ms, ${(p99Ms / p50Ms).toFixed(1)} ×${
          sync === undefined
            ? ''
            : `; fdatasync ${sync.toFixed(3)} ms, so at most ${(2.5 * sync + 0.3).toFixed(2)} is wanted`
        }`,
      ),
    { ...values, seconds: Number(values.seconds ?? 3) },
  );
}
