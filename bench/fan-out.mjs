/** Watch fan-out: many watchers and some writers; measures events delivered per second, and their latency. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent } from 'node:http';
import path from 'node:path';
import { podNamed, send } from './objects.mjs';

/** As many writers as share a commit in the other figures. */
const writers = 16;
const warmingRounds = 4;

const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

/**
 * @param form of the events: `json` or `protobuf`
 * @param over watches over HTTP/2 at this secure door (`url`, `tls`); writers use the local one
 */
export async function fanout(url, watchers, changes, form = 'json', over = undefined) {
  const pods = `${url}/api/v1/namespaces/default/pods`;
  // One object per writer: changes of the same object would wait for each other.
  let created;
  for (let i = 0; i < writers; i++)
    created = await (
      await fetch(pods, { method: 'POST', body: JSON.stringify(podNamed(`fanout-${i}`, 0)) })
    ).json();
  // An earlier run may have made them; the newest version is as good.
  const { metadata } = created.status === 'Failure' ? await (await fetch(`${pods}?limit=1`)).json() : created;
  const agent = new Agent({ keepAlive: true, maxSockets: writers });
  const child = fork(
    path.join(import.meta.dirname, 'watchers.mjs'),
    [over?.url ?? url, watchers, changes, metadata.resourceVersion, form].map(String),
    { env: { ...process.env, WATCH_TLS: JSON.stringify(over?.tls ?? null) } },
  );
  await once(child, 'message');

  /** Numbers its changes from `from` on, because writing the same value twice is no change. */
  const round = async (from) => {
    const answered = [];
    const begun = performance.now();
    const done = once(child, 'message');
    let next = 0;
    const writer = async (_, i) => {
      while (next < changes) {
        const n = next++;
        const change = { metadata: { annotations: { n: String(from + n) } } };
        await send(agent, 'PATCH', `${pods}/fanout-${i}`, change, 'application/merge-patch+json');
        answered[n] = performance.timeOrigin + performance.now();
      }
    };
    await Promise.all(Array.from({ length: writers }, writer));
    const [{ arrivals, received }] = await done;
    return { seconds: (performance.now() - begun) / 1000, answered, arrivals, received };
  };
  const first = changes * Math.floor(performance.now());
  // Warm-up rounds, until all sides run optimised code; they do not count.
  for (let i = 0; i < warmingRounds; i++) await round(first + i * changes);
  const { seconds, answered, arrivals, received } = await round(first + warmingRounds * changes);
  child.disconnect();
  agent.destroy();
  const late = arrivals
    .flatMap((times, n) => times.map((time) => Math.max(0, time - answered[n])))
    .sort((a, b) => a - b);
  return { eventsPerSecond: received / seconds, p50Ms: percentile(late, 0.5), p99Ms: percentile(late, 0.99) };
}
