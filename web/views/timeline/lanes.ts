/**
 * Lanes: what happened to each object, in order, computed from its versions. Times come from the objects themselves; a
 * version without a time happened when the latest one before it did.
 */
import type { Change } from '../../core/history/history.ts';
import type { Kind } from '../../core/kinds.ts';
import type { ApiObject, Json } from '../../core/objects.ts';
import { type Writer, writerOf } from '../../core/writer.ts';
import type { Tone } from '../../ui/tone.ts';
import { eventTime } from '../object/event-time.ts';

export interface Mark {
  readonly timeMs: number;
  readonly what: string;
  /** `calm`: neither good nor bad; `rest`: calm, and staying so. */
  readonly tone: Tone | 'calm' | 'rest';
  /** The version of the cluster that shows it. */
  readonly version: number;
  readonly isEvent?: boolean;
}

export interface Lane {
  readonly uid: string;
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly marks: Mark[];
  deletedMs: number | undefined;
}

/** Lanes and marks that are kept; the oldest go first. */
const lanesMax = 300;
const marksMax = 200;

export class Lanes {
  readonly byUid = new Map<string, Lane>();
  readonly #latest = new Map<string, ApiObject>();
  /** Kinds whose history is still being read: their objects may be deleted by what comes. */
  readonly #unread = new Set<Kind>();
  #newestMs = 0;

  /** Kinds that are still being read. */
  get unread(): ReadonlySet<Kind> {
    return this.#unread;
  }

  /** The time up to which a lane is known: undefined once its kind is read, and thus known until now. */
  knownUntil({ kind, deletedMs }: Lane): number | undefined {
    return deletedMs === undefined && this.#unread.has(kind) ? this.#newestMs : undefined;
  }

  /** Called when the history of a kind is read up to now, or will not be read. */
  caughtUp(kind: Kind): void {
    this.#unread.delete(kind);
  }

  /** Called when the history of a kind begins, or begins anew. */
  clear(kind: Kind): void {
    this.#unread.add(kind);
    for (const [uid, lane] of this.byUid) {
      if (lane.kind !== kind) continue;
      this.byUid.delete(uid);
      this.#latest.delete(uid);
    }
  }

  take(kind: Kind, change: Change): void {
    const { object, version } = change;
    const { uid, namespace, name } = object.metadata;
    const before = this.#latest.get(uid);
    let lane = this.byUid.get(uid);
    if (!lane) {
      if (this.byUid.size >= lanesMax) this.#dropOldest();
      lane = { uid, kind, namespace, name, marks: [], deletedMs: undefined };
      this.byUid.set(uid, lane);
    }
    const writer = writerOf(object, before);
    const writtenMs = Date.parse(writer?.time ?? '');
    if (writtenMs > this.#newestMs) this.#newestMs = writtenMs;
    for (const mark of marksOf(change, before, writer, this.#newestMs)) addMark(lane, { ...mark, version });
    if (change.type === 'DELETED') {
      lane.deletedMs = Math.max(this.#newestMs, lane.marks.at(-1)?.timeMs ?? 0);
      addMark(lane, { timeMs: lane.deletedMs, what: 'deleted', tone: 'calm', version });
      this.#latest.delete(uid);
    } else this.#latest.set(uid, object);
  }

  takeEvent({ object, version, type }: Change): void {
    const lane = this.byUid.get(object.involvedObject?.uid ?? '');
    if (!lane || type === 'DELETED') return;
    const timeMs = Date.parse(eventTime(object));
    const what = `${object.reason}: ${object.message}`;
    addMark(lane, {
      timeMs,
      what,
      tone: object.type === 'Warning' ? 'warn' : 'calm',
      version,
      isEvent: true,
    });
  }

  #dropOldest(): void {
    const gone =
      [...this.byUid.values()].find(({ deletedMs }) => deletedMs !== undefined) ??
      this.byUid.values().next().value;
    this.byUid.delete(gone!.uid);
    this.#latest.delete(gone!.uid);
  }
}

function addMark(lane: Lane, mark: Mark): void {
  if (Number.isNaN(mark.timeMs)) return;
  // Times are whole seconds, so the same may happen twice at one time; an event that is only counted again may not.
  const isKnown = ({ what, timeMs, version, isEvent }: Mark): boolean =>
    what === mark.what && timeMs === mark.timeMs && (isEvent || version === mark.version);
  if (lane.marks.some(isKnown)) return;
  const at = lane.marks.findLastIndex(({ timeMs }) => timeMs <= mark.timeMs);
  lane.marks.splice(at + 1, 0, mark);
  if (lane.marks.length > marksMax) lane.marks.shift();
}

type NewMark = Omit<Mark, 'version'>;

/** What a version of an object shows that the one before did not. */
function marksOf(
  { type, object }: Change,
  before: ApiObject | undefined,
  writer: Writer | undefined,
  newestMs: number,
): NewMark[] {
  const marks: NewMark[] = [];
  const add = (time: unknown, what: string, tone: Mark['tone']): void => {
    const timeMs = typeof time === 'number' ? time : Date.parse(String(time ?? ''));
    marks.push({ timeMs: Number.isNaN(timeMs) ? newestMs : timeMs, what, tone });
  };
  if (!before && type !== 'DELETED') add(object.metadata.creationTimestamp, 'created', 'calm');
  if (object.metadata.deletionTimestamp && !before?.metadata.deletionTimestamp && type !== 'DELETED')
    add(askedMs(object), 'being deleted', 'warn');
  if (object.kind === 'Pod' || object.spec?.containers) podMarks(object, before, add);
  else workloadMarks(object, before, writer, add);
  return marks;
}

/** When its deletion was asked for: the time in the object is when its grace ends. */
const askedMs = ({ metadata }: ApiObject): number =>
  Date.parse(metadata.deletionTimestamp!) - (metadata.deletionGracePeriodSeconds ?? 0) * 1_000;

type Add = (time: unknown, what: string, tone: Mark['tone']) => void;

const conditionOf = (object: ApiObject | undefined, wanted: string): Json =>
  object?.status?.conditions?.find(({ type }: Json) => type === wanted);

function podMarks(pod: ApiObject, before: ApiObject | undefined, add: Add): void {
  const turned = (type: string): Json => {
    const now = conditionOf(pod, type);
    return now && now.status !== conditionOf(before, type)?.status ? now : undefined;
  };
  const scheduled = turned('PodScheduled');
  if (scheduled?.status === 'True')
    add(scheduled.lastTransitionTime, `scheduled to ${pod.spec?.nodeName}`, 'calm');
  if (scheduled?.status === 'False')
    add(scheduled.lastTransitionTime, `cannot be scheduled: ${scheduled.message}`, 'bad');
  const phase = pod.status?.phase;
  if (phase !== before?.status?.phase) {
    if (phase === 'Running') add(startedAt(pod), 'started', 'calm');
    if (phase === 'Failed') add(endedAt(pod), 'failed', 'bad');
    if (phase === 'Succeeded') add(endedAt(pod), 'completed', 'good');
  }
  const ready = turned('Ready');
  if (ready?.status === 'True') add(ready.lastTransitionTime, 'ready', 'good');
  else if (ready && conditionOf(before, 'Ready')?.status === 'True')
    add(ready.lastTransitionTime, 'not ready', phase === 'Succeeded' ? 'calm' : 'warn');
  const restarts = restartsOf(pod);
  if (before && restarts > restartsOf(before))
    add(restartedAt(pod), `restarted, ${restarts} times now`, 'bad');
}

/** The latest of some times, as text; undefined when there is no time among them. */
const latest = (times: readonly unknown[]): string | undefined =>
  times
    .filter((time): time is string => typeof time === 'string')
    .reduce<string | undefined>(
      (a, b) => (a !== undefined && Date.parse(a) >= Date.parse(b) ? a : b),
      undefined,
    );

const containersOf = ({ status }: ApiObject): Json[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];

/** When the last container ended. Pods that ended without one, such as evicted ones, say when they were last ready. */
const endedAt = (pod: ApiObject): string | undefined =>
  latest(containersOf(pod).map(({ state }) => state?.terminated?.finishedAt)) ??
  conditionOf(pod, 'Ready')?.lastTransitionTime;

/** When the latest run began or, while it is waited for, the one before ended. */
const restartedAt = (pod: ApiObject): string | undefined =>
  latest(
    containersOf(pod)
      .filter(({ restartCount }) => restartCount > 0)
      .map(({ state, lastState }) => state?.running?.startedAt ?? lastState?.terminated?.finishedAt),
  );

const startedAt = ({ status }: ApiObject): unknown =>
  status?.containerStatuses?.map(({ state }: Json) => state?.running?.startedAt).find(Boolean) ??
  status?.startTime;

const restartsOf = ({ status }: ApiObject): number =>
  (status?.containerStatuses ?? []).reduce(
    (sum: number, { restartCount = 0 }: Json) => sum + restartCount,
    0,
  );

function workloadMarks(
  object: ApiObject,
  before: ApiObject | undefined,
  writer: Writer | undefined,
  add: Add,
): void {
  const wanted = object.spec?.replicas;
  const was = before?.spec?.replicas;
  if (before && wanted !== was)
    add(
      writer?.time,
      `scaled from ${was} to ${wanted} by ${writer?.name ?? 'unknown'}`,
      wanted === 0 ? 'rest' : 'calm',
    );
  else if (before && (object.metadata.generation ?? 0) > (before.metadata.generation ?? 0))
    add(writer?.time, `changed by ${writer?.name ?? 'unknown'}`, 'calm');
  const ready = (of: ApiObject | undefined): boolean => {
    const size = of?.spec?.replicas ?? of?.status?.desiredNumberScheduled;
    return size > 0 && (of?.status?.readyReplicas ?? of?.status?.numberReady ?? 0) >= size;
  };
  if (ready(object) && !ready(before))
    add(before ? writer?.time : object.metadata.creationTimestamp, 'all ready', 'good');
  if (before && ready(before) && !ready(object) && wanted !== 0) add(writer?.time, 'not all ready', 'warn');
  const isTrue = (of: ApiObject | undefined, type: string): boolean =>
    conditionOf(of, type)?.status === 'True';
  if (isTrue(object, 'Complete') && !isTrue(before, 'Complete'))
    add(conditionOf(object, 'Complete').lastTransitionTime, 'completed', 'good');
  if (isTrue(object, 'Failed') && !isTrue(before, 'Failed'))
    add(conditionOf(object, 'Failed').lastTransitionTime, 'failed', 'bad');
}

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
  readonly tone: Mark['tone'];
}

/** The life of an object as stretches between its marks, each in the tone of what it began with. */
export function spansOf({ marks, deletedMs }: Lane, nowMs: number): Span[] {
  const own = marks.filter(({ isEvent }) => !isEvent);
  let tone: Mark['tone'] = 'calm';
  return own.flatMap((mark, i) => {
    if (mark.what === 'deleted') return [];
    if (mark.tone !== 'calm') tone = mark.tone === 'rest' ? 'calm' : mark.tone;
    const toMs = own[i + 1]?.timeMs ?? deletedMs ?? nowMs;
    return toMs > mark.timeMs ? [{ fromMs: mark.timeMs, toMs, tone }] : [];
  });
}
