/**
 * Event recording. A repeated event increases a count instead of being written again; many that differ only
 * in their message are combined into one; and events of one component about one object are rate-limited.
 */
import { randomInt } from 'node:crypto';
import { StatusError } from '../api/errors/errors.ts';
import type { Event, ObjectReference } from '../api/generated/types.ts';
import { formatMicroTime, formatTime } from '../api/values/time.ts';

/** Events repeated within this time are counted. */
const similarMs = 10 * 60_000;
/** Number of different messages with one reason about one object before they are combined into one event. */
const foldAfter = 10;
/** Events about one object before the rate limit applies: one every five minutes. */
const burst = 25;
const refillMs = 5 * 60_000;
/** Maximum number of objects and events remembered. */
const rememberedMax = 4096;
const messageCharactersMax = 1024;
/** Names of events are times in nanoseconds, of which the clock gives milliseconds. */
const namesPerMs = 1_000_000;

export interface EventSink {
  create(namespace: string, event: Event): Promise<{ metadata: { name?: string } }>;
  /** A merge patch; throws a StatusError with code 404 when the event is gone. */
  patch(namespace: string, name: string, patch: object): Promise<unknown>;
}

/** The object of an event. `apiVersion` and `kind` must be set. */
export interface EventSubject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
  };
}

export interface RecorderOptions {
  readonly component: string;
  readonly host?: string;
  /**
   * Actions by reason. If given, events have the form of events.k8s.io, with action and series; otherwise the
   * older form, with a count.
   */
  readonly actions?: Readonly<Record<string, string>>;
  readonly now: () => number;
  /** Called with each event as it is recorded, also with repeated ones. */
  readonly onRecorded?: (type: string, about: ObjectReference, reason: string, message: string) => void;
  readonly onError: (error: Error) => void;
}

interface Told {
  readonly namespace: string;
  readonly name: Promise<string | undefined>;
  count: number;
  lastMs: number;
}

export class EventRecorder {
  readonly #told = new Map<string, Told>();
  readonly #texts = new Map<string, { texts: Set<string>; sinceMs: number }>();
  readonly #allowance = new Map<string, { left: number; atMs: number }>();
  readonly #underWay = new Set<Promise<unknown>>();
  /**
   * Starts at a random number, because several components may record an event about one object in the same millisecond.
   */
  #sequence = randomInt(namesPerMs);

  constructor(
    private readonly sink: EventSink,
    private readonly options: RecorderOptions,
  ) {}

  normal(subject: EventSubject, reason: string, message: string, fieldPath?: string): void {
    this.#record('Normal', subject, reason, message, fieldPath);
  }

  warning(subject: EventSubject, reason: string, message: string, fieldPath?: string): void {
    this.#record('Warning', subject, reason, message, fieldPath);
  }

  /** Whether all events so far are written, or have failed. */
  get idle(): boolean {
    return this.#underWay.size === 0;
  }

  /** Resolves when all events so far are written, or have failed. */
  async flushed(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  #record(type: string, subject: EventSubject, reason: string, text: string, fieldPath?: string): void {
    const nowMs = this.options.now();
    const about = referenceTo(subject, fieldPath);
    const who = [about.kind, about.namespace, about.name, about.uid].join('/');
    if (!this.#allowed(who, nowMs)) return;
    const message = this.#folded([who, type, reason].join('\n'), shortened(text), nowMs);
    this.options.onRecorded?.(type, about, reason, message.text);
    const key = [who, fieldPath, type, reason, message.key].join('\n');
    const before = this.#told.get(key);
    const work =
      before && nowMs - before.lastMs < similarMs
        ? this.#again(key, before, type, about, reason, message.text, nowMs)
        : this.#first(key, type, about, reason, message.text, nowMs);
    const failed = (error: Error): void => {
      if (!isForbiddenByDeletion(error)) this.options.onError(error);
    };
    const settled = work.catch(failed).finally(() => this.#underWay.delete(settled));
    this.#underWay.add(settled);
  }

  async #first(
    key: string,
    type: string,
    about: ObjectReference,
    reason: string,
    message: string,
    nowMs: number,
  ): Promise<void> {
    const namespace = about.namespace || 'default';
    const unique = (BigInt(nowMs) * 1_000_000n + BigInt(this.#sequence++ % namesPerMs)).toString(16);
    const created = this.sink.create(namespace, {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${about.name}.${unique}`, namespace },
      involvedObject: about,
      reason,
      message,
      type,
      ...this.#teller(reason, nowMs),
    });
    const name = created.then(
      (event) => event.metadata.name,
      () => undefined,
    );
    remember(this.#told, key, { namespace, name, count: 1, lastMs: nowMs });
    await created;
  }

  /** The reporting component, and the time. */
  #teller(reason: string, nowMs: number): Partial<Event> {
    const { component, host, actions } = this.options;
    if (actions)
      return {
        eventTime: formatMicroTime(nowMs),
        action: actions[reason] ?? reason,
        reportingComponent: component,
        reportingInstance: host ? `${component}-${host}` : component,
      };
    const time = formatTime(nowMs);
    return {
      source: { component, ...(host ? { host } : {}) },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
      reportingComponent: component,
      reportingInstance: host ?? '',
    };
  }

  async #again(
    key: string,
    told: Told,
    type: string,
    about: ObjectReference,
    reason: string,
    message: string,
    nowMs: number,
  ): Promise<void> {
    told.count++;
    told.lastMs = nowMs;
    const { count } = told;
    const name = await told.name;
    if (!name) return;
    try {
      const again = this.options.actions
        ? { series: { count, lastObservedTime: formatMicroTime(nowMs) } }
        : { count, lastTimestamp: formatTime(nowMs) };
      await this.sink.patch(told.namespace, name, { message, ...again });
    } catch (error) {
      if ((error as { code?: number }).code !== 404) throw error;
      await this.#first(key, type, about, reason, message, nowMs);
    }
  }

  /** After `foldAfter` different messages, further ones share one event: its key stays, its message is the newest. */
  #folded(group: string, message: string, nowMs: number): { key: string; text: string } {
    let known = this.#texts.get(group);
    if (!known || nowMs - known.sinceMs > similarMs) {
      known = { texts: new Set(), sinceMs: nowMs };
      remember(this.#texts, group, known);
    }
    if (known.texts.size < foldAfter || known.texts.has(message)) {
      known.texts.add(message);
      return { key: message, text: message };
    }
    return { key: '', text: shortened(`(combined from similar events): ${message}`) };
  }

  #allowed(who: string, nowMs: number): boolean {
    const before = this.#allowance.get(who) ?? { left: burst, atMs: nowMs };
    const left = Math.min(burst, before.left + (nowMs - before.atMs) / refillMs);
    const granted = left >= 1;
    remember(this.#allowance, who, { left: granted ? left - 1 : left, atMs: nowMs });
    return granted;
  }
}

/** Adds an entry; evicts the oldest beyond the maximum. */
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > rememberedMax) map.delete(map.keys().next().value!);
}

const shortened = (text: string): string =>
  text.length > messageCharactersMax ? `${text.slice(0, messageCharactersMax - 3)}...` : text;

function referenceTo(subject: EventSubject, fieldPath: string | undefined): ObjectReference {
  const { name, namespace, uid, resourceVersion } = subject.metadata;
  return {
    kind: subject.kind,
    ...(namespace ? { namespace } : {}),
    name,
    uid,
    apiVersion: subject.apiVersion,
    resourceVersion,
    ...(fieldPath ? { fieldPath } : {}),
  };
}

/** Whether an event was refused because the namespace of its object is being deleted: that is not a failure. */
const isForbiddenByDeletion = (error: Error): boolean =>
  error instanceof StatusError &&
  error.status.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') === true;
