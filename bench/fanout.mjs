/** Watch fan-out: many watchers, one writer; how many events are delivered a second, and how late. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { podNamed } from './objects.mjs';

/** As many as share a commit in the other figures. */
const writers = 16;

const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

export async function fanout(url, watchers, changes) {
  const pods = `${url}/api/v1/namespaces/default/pods`;
  // Sixteen writers, each with an object of its own: changes to one object wait for each other.
  let created;
  for (let i = 0; i < writers; i++)
    created = await (
      await fetch(pods, { method: 'POST', body: JSON.stringify(podNamed(`fanout-${i}`, 0)) })
    ).json();
  const child = fork(
    path.join(import.meta.dirname, 'watchers.mjs'),
    [url, watchers, changes, created.metadata.resourceVersion].map(String),
  );
  await once(child, 'message');
  const answered = [];
  const begun = performance.now();
  const done = once(child, 'message');
  let next = 0;
  const writer = async (_, i) => {
    while (next < changes) {
      const n = next++;
      const answer = await fetch(`${pods}/fanout-${i}`, {
        method: 'PATCH',
        headers: { 'Content-Type': 'application/merge-patch+json' },
        body: JSON.stringify({ metadata: { annotations: { n: String(n) } } }),
      });
      await answer.arrayBuffer();
      answered[n] = performance.timeOrigin + performance.now();
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  const [{ arrivals, received }] = await done;
  const seconds = (performance.now() - begun) / 1000;
  child.disconnect();
  const late = arrivals
    .flatMap((times, n) => times.map((time) => Math.max(0, time - answered[n])))
    .sort((a, b) => a - b);
  return { eventsPerSecond: received / seconds, p50Ms: percentile(late, 0.5), p99Ms: percentile(late, 0.99) };
}
