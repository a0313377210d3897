/** What events say about findings: the latest that may say why does. */
import { type Any, short } from './finding.ts';
import type { Found } from './problem.ts';

interface Asked {
  readonly found: Found;
  /** Where it is among all that was found; undefined: nowhere, unless there is an event. */
  readonly at: number | undefined;
  latest?: { readonly time: string; readonly text: string; readonly reason: string };
}

export class EventReasons {
  readonly #asked: Asked[] = [];
  readonly #byUid = new Map<string, Asked[]>();

  get isEmpty(): boolean {
    return this.#asked.length === 0;
  }

  /** Whether other events than warnings may say something. */
  get wantsNormal(): boolean {
    return this.#asked.some(({ found }) => found.finding.events?.hasNormal);
  }

  ask(found: Found, at: number | undefined): void {
    const asked = { found, at };
    const { uid } = found.object;
    this.#asked.push(asked);
    const others = this.#byUid.get(uid);
    if (others) others.push(asked);
    else this.#byUid.set(uid, [asked]);
  }

  take({ type, reason, message, involvedObject, series, lastTimestamp, eventTime }: Any): void {
    const time = String(series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? '');
    for (const asked of this.#byUid.get(involvedObject?.uid) ?? []) {
      const { begins, hasNormal } = asked.found.finding.events ?? {};
      if (type !== 'Warning' && !hasNormal) continue;
      if (begins && !begins.test(String(message))) continue;
      if (time >= (asked.latest?.time ?? '')) asked.latest = { time, reason, text: short(message) };
    }
  }

  /** Says why where there is an event; what its event says to be meant so is left out. */
  addTo(found: Found[]): void {
    const meant = new Set<number>();
    for (const { found: each, at, latest } of this.#asked) {
      const { finding } = each;
      if (!latest?.text || (finding.isOnlyInEvents && latest.time < finding.since)) continue;
      if (at !== undefined && finding.events?.meant === latest.reason) meant.add(at);
      const text = [finding.text, latest.text].filter(Boolean).join(': ');
      // Why is the cause: what has other reasons is another problem.
      const cause = `${finding.cause} ${withoutNames(latest.text)}`;
      const since = latest.time || finding.since;
      found[at ?? found.length] = { ...each, finding: { ...finding, text, cause, since } };
    }
    if (meant.size > 0) found.splice(0, found.length, ...found.filter((_, at) => !meant.has(at)));
  }
}

/** Pods of one workload have other names and addresses in the same message. */
const withoutNames = (text: string): string =>
  text
    .replace(/\d+(\.\d+){3}(:\d+)?/g, '…')
    .replace(/"[^"]*"/g, '…')
    .replace(/[\w.-]*-[a-z\d]{5}\b/g, '…');
