/**
 * Loaded into a server (`node --import`): finds the longest turns of its event loop, in processor time, and what ran in
 * them. A timer that should fire each millisecond tells how late it is; a profile, whose samples have times, tells what
 * ran meanwhile. On SIGUSR2 both are written to the file `TURNS_FILE` as JSON, and begin anew.
 */
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { turnTimer } from '../../test/attack/loop-watch.mjs';

const tickMs = 1;
const sampleUs = 250;
const keptMax = 8;
/** Functions told of each turn. */
const namesMax = 12;

let late = [];
let count = 0;
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.setSamplingInterval', { interval: sampleUs });
await session.post('Profiler.start');

const nowUs = () => Number(process.hrtime.bigint() / 1000n);
const turnMs = turnTimer();
let last = nowUs();
setInterval(() => {
  const [now, tookMs] = [nowUs(), turnMs()];
  if (tookMs > 10) count++;
  if (late.length < keptMax || tookMs > late.at(-1).tookMs) {
    late.push({ tookMs, fromUs: last, toUs: now });
    late.sort((a, b) => b.tookMs - a.tookMs);
    late = late.slice(0, keptMax);
  }
  last = nowUs();
}, tickMs).unref();

/** The names of a sample's functions, innermost first, and its milliseconds. */
function* samplesWithin({ samples, timeDeltas, startTime, nodes }, { fromUs, toUs }) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  let at = startTime;
  for (const [i, id] of samples.entries()) {
    at += timeDeltas[i];
    if (at < fromUs || at > toUs) continue;
    const names = [];
    for (let node = id; node !== undefined; node = parents.get(node)) {
      const { functionName, url, lineNumber } = byId.get(node).callFrame;
      if (functionName !== '(root)')
        names.push(`${functionName || `(line ${lineNumber} of ${url.split('/').at(-1)})`}`);
    }
    // Samples that are further apart: the thread did not have a processor.
    yield { names, ms: Math.min(timeDeltas[i + 1] ?? 0, 2 * sampleUs) / 1000 };
  }
}

const most = (sums) =>
  [...sums]
    .sort(([, a], [, b]) => b - a)
    .slice(0, namesMax)
    .map(([name, ms]) => `${name} ${ms.toFixed(1)}`);

process.on('SIGUSR2', async () => {
  const { profile } = await session.post('Profiler.stop');
  const turns = late.map((turn) => {
    const [self, total] = [new Map(), new Map()];
    for (const { names, ms } of samplesWithin(profile, turn)) {
      self.set(names[0], (self.get(names[0]) ?? 0) + ms);
      for (const name of new Set(names)) total.set(name, (total.get(name) ?? 0) + ms);
    }
    return { ms: turn.tookMs, ran: most(total), itself: most(self) };
  });
  writeFileSync(process.env.TURNS_FILE, JSON.stringify({ above10: count, turns }));
  late = [];
  count = 0;
  await session.post('Profiler.start');
  // Writing the profile is no turn of the server.
  turnMs();
  last = nowUs();
});
