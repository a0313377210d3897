/**
 * Delete: removes an object at once, or marks it for deletion while a grace period or finalizers hold it. A marked
 * object is removed by the write that drops the last finalizer (see modify.ts).
 */
import { conflict, modified, preconditionConflict } from '../../api/errors/errors.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { formatTime, timeToMs } from '../../api/values/time.ts';
import type { Lock } from '../../store/store.ts';
import { TurnQueue } from '../../turn-queue.ts';
import type { Admission } from '../admission-chain.ts';
import { checkDeleteOptions, type DeleteOptions } from '../delete-options.ts';
import type { Registry } from '../registry.ts';
import type { Request } from '../request.ts';
import { type Target, targetOf } from '../target.ts';
import { Entry } from '../view/entry.ts';
import type { Filter } from '../view/filter.ts';
import type { Writing } from '../writing.ts';
import { releaseUnused } from './in-use.ts';
import { isReleased } from './modify.ts';
import { finishOrphaning, orphanDependents } from './orphaning.ts';

type Propagation = 'Background' | 'Foreground' | 'Orphan';

export interface Deletion {
  /** The marked object, or its last state when it was removed. */
  readonly entry: Entry;
  readonly uid: string;
  readonly removed: boolean;
}

const collectorFinalizers: readonly string[] = ['orphan', 'foregroundDeletion'];
const roundsMax = 1000;
/** Longer grace periods are cut to a hundred years, so that deletionTimestamp stays within the range of dates. */
const graceMaxSeconds = 100 * 365 * 24 * 3600;
/** Concurrent deletes of a deletecollection. */
const collectionWidth = 64;
/** Those of them that begin in one turn of the event loop: each takes some tenths of a millisecond, at once in memory. */
const collectionTurnMax = 16;

export async function remove(
  writing: Writing,
  request: Request,
  target: Target,
  options: DeleteOptions,
): Promise<Deletion> {
  const { kind, name } = target;
  request.trace?.end('decode');
  checkDeleteOptions(options);
  const behind = writing.registry.view.of(kind).caughtUp();
  if (behind) await writing.registry.inTime(behind, request.deadlineMs);
  for (let round = 1; round <= roundsMax; round++) {
    const current = writing.registry.find(target);
    const object = current.object();
    checkDeletePreconditions(kind, name, options, object, current);
    const admission = new DeleteAdmission(request, target, options, current);
    const orphans = orphansAtOnce(writing, request, kind, object, options);
    if (orphans && !writing.finalizing.collection) await orphanDependents(writing, current);
    mark(writing, kind, object, options);
    const deletion = await writing.admission.admitted(writing.registry, admission, () =>
      carryOut(writing.registry, request, current, object),
    );
    if (!deletion) continue;
    if (!orphans || deletion.removed) return deletion;
    // Marked, so that no controller makes more dependents.
    await orphanDependents(writing, deletion.entry);
    const { entry, uid } = deletion;
    return { entry, uid, removed: await finishOrphaning(writing, entry) };
  }
  throw modified(kind, name);
}

/** Removes an object that nothing holds, stores a marked one. Undefined: another writer changed it first. */
async function carryOut(
  registry: Registry,
  request: Request,
  current: Entry,
  object: ApiObject,
): Promise<Deletion | undefined> {
  const { kind, namespace, name, uid } = current;
  if (isReleased(kind, object)) {
    const revision = request.dryRun
      ? current.revision
      : await registry.commit(request, current, null, current.revision);
    if (revision === undefined) return undefined;
    return new RemovedObject(registry, request, current, object, revision);
  }
  const value = registry.encode(request, targetOf(current), object, current);
  if (current.holds(value)) return { entry: current, uid, removed: false };
  const revision = request.dryRun
    ? current.revision
    : await registry.commit(request, current, value, current.revision);
  if (revision === undefined) return undefined;
  const entry = request.dryRun
    ? Entry.of(kind, namespace, name, value, revision)
    : registry.entryOf(current, value, revision);
  return { entry, uid, removed: false };
}

/**
 * The admission of a delete. A class, because a getter in an object literal would cost each request a hidden class of its
 * own, which keeps the whole request alive until the next major garbage collection: 4 KB for each.
 */
class DeleteAdmission implements Admission {
  readonly operation = 'delete';
  readonly object = undefined;
  readonly afterwards: ((stored: boolean) => void)[] = [];
  reinvoke?: boolean;
  round?: number;
  locks?: Lock[];

  constructor(
    readonly request: Request,
    readonly target: Target,
    readonly options: DeleteOptions,
    private readonly current: Entry,
  ) {}

  /** Parsed for a plugin that asks: most deletes are admitted without a look at the object. */
  get old(): ApiObject {
    const { current, target } = this;
    return target.kind === current.kind ? current.peek() : current.object(target.kind);
  }
}

/** An object that is gone. */
class RemovedObject implements Deletion {
  readonly removed = true;

  constructor(
    private readonly registry: Registry,
    private readonly request: Request,
    private readonly current: Entry,
    private readonly object: ApiObject,
    private readonly revision: number,
  ) {}

  get uid(): string {
    return this.current.uid;
  }

  /** Encoded for a caller that asks: most deletions are answered without the object. */
  get entry(): Entry {
    const { registry, request, current, object, revision } = this;
    const { kind, namespace, name } = current;
    if (!request.dryRun && !lastState(kind, object)) return current;
    return Entry.of(
      kind,
      namespace,
      name,
      registry.encode(request, targetOf(current), object, current),
      revision,
    );
  }
}

/** With graceful deletion, the answer to the final delete shows the deletion mark; otherwise it shows the stored state. */
const lastState = (kind: Kind, object: ApiObject): boolean =>
  kind.deletion.gracePeriodSeconds !== undefined || object.metadata.finalizers !== undefined;

/** Checks the preconditions uid and resourceVersion. */
export function checkDeletePreconditions(
  kind: Kind,
  name: string,
  options: DeleteOptions,
  object: ApiObject,
  current: Entry,
): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  if (uid !== undefined && uid !== object.metadata.uid && kind.deletion.checksUidFirst)
    throw conflict(
      kind,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${object.metadata.uid}`,
    );
  if (uid !== undefined && uid !== object.metadata.uid)
    throw preconditionConflict(
      kind,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${object.metadata.uid}). The object might have been deleted and then recreated`,
    );
  if (resourceVersion !== undefined && resourceVersion !== String(current.revision))
    throw preconditionConflict(
      kind,
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${current.revision}). The object might have been modified`,
    );
}

/**
 * Whether dependents are orphaned before the delete is answered: where no garbage collector would do it later, and for
 * kinds that Kubernetes 1.1 deleted at once, unless the client asks for something else.
 */
function orphansAtOnce(
  { finalizing }: Writing,
  { dryRun }: Request,
  kind: Kind,
  object: ApiObject,
  options: DeleteOptions,
): boolean {
  if (dryRun || kind.deletion.uncollected || propagationOf(kind, object, options) !== 'Orphan') return false;
  const asked = options.propagationPolicy !== undefined || options.orphanDependents !== undefined;
  return !finalizing.collection || (finalizing.prompt && !asked && kind.deletion.orphansAtOnce === true);
}

/** Marks an object for deletion. An object without finalizers and grace period may be removed afterwards. */
function mark(
  { registry, finalizing }: Writing,
  kind: Kind,
  object: ApiObject,
  options: DeleteOptions,
): void {
  const meta = object.metadata;
  const first = !meta.deletionTimestamp;
  const nowMs = registry.sources.nowMs();
  if (finalizing.collection) setCollectorFinalizers(kind, object, options);
  const { deletion } = kind;
  if (deletion.mark) {
    meta.deletionTimestamp ??= formatTime(nowMs);
    return deletion.mark(object, { now: formatTime(nowMs) });
  }
  if (finalizing.prompt) releaseUnused(registry.view, kind.storage.deletion, object);
  const grace = deletion.gracePeriodSeconds?.(object, requestedGrace(options));
  if (grace) markGraceful(object, Math.min(grace, graceMaxSeconds), options, nowMs);
  else if (grace === 0 || first || !meta.finalizers?.length) {
    meta.deletionTimestamp ??= formatTime(nowMs);
    meta.deletionGracePeriodSeconds = 0;
  }
  if (first && kind.generationOf && meta.generation) meta.generation++;
}

const requestedGrace = (options: DeleteOptions): number | undefined =>
  options.gracePeriodSeconds !== undefined && options.gracePeriodSeconds < 0 ? 1 : options.gracePeriodSeconds;

/** A grace period that is running can be shortened, never lengthened. */
function markGraceful(object: ApiObject, grace: number, options: DeleteOptions, nowMs: number): void {
  const meta = object.metadata;
  if (!meta.deletionTimestamp) {
    meta.deletionTimestamp = formatTime(nowMs + grace * 1000);
    meta.deletionGracePeriodSeconds = grace;
    return;
  }
  const running = meta.deletionGracePeriodSeconds ?? 0;
  if (options.gracePeriodSeconds === undefined || grace >= running) return;
  const startedMs = timeToMs(meta.deletionTimestamp) - running * 1000;
  meta.deletionTimestamp = formatTime(Math.max(startedMs + grace * 1000, nowMs));
  meta.deletionGracePeriodSeconds = grace;
}

/** The propagation policy is written into the object as a finalizer for the garbage collector. */
function setCollectorFinalizers(kind: Kind, object: ApiObject, options: DeleteOptions): void {
  if (kind.deletion.uncollected) return;
  const meta = object.metadata;
  const wanted = propagationOf(kind, object, options);
  const kept = (meta.finalizers ?? []).filter((finalizer) => !collectorFinalizers.includes(finalizer));
  if (wanted === 'Orphan') kept.push('orphan');
  if (wanted === 'Foreground') kept.push('foregroundDeletion');
  meta.finalizers = kept.length ? kept : undefined;
}

function propagationOf(kind: Kind, object: ApiObject, options: DeleteOptions): Propagation {
  if (options.propagationPolicy) return options.propagationPolicy as Propagation;
  if (options.orphanDependents !== undefined) return options.orphanDependents ? 'Orphan' : 'Background';
  if (object.metadata.finalizers?.includes('orphan')) return 'Orphan';
  if (object.metadata.finalizers?.includes('foregroundDeletion')) return 'Foreground';
  return kind.deletion.propagation;
}

/** Deletes all objects that a filter selects; returns those that were found. */
export async function removeCollection(
  writing: Writing,
  request: Request,
  collection: Target,
  filter: Filter,
  options: DeleteOptions,
  limit: number | undefined,
): Promise<{ entries: readonly Entry[]; revision: number }> {
  checkDeleteOptions(options);
  const view = writing.registry.view.of(collection.kind);
  const behind = view.caughtUp();
  if (behind) await writing.registry.inTime(behind, request.deadlineMs);
  const members = view.collection(collection.kind);
  for (;;) {
    const preparing = members.prepared(filter);
    if (!preparing) break;
    await writing.registry.inTime(preparing, request.deadlineMs);
  }
  const { entries } = members.select(filter, { limit });
  const { revision } = view;
  const queue = [...entries];
  const turns = new TurnQueue(collectionTurnMax);
  const worker = async (): Promise<void> => {
    while (queue.length > 0) {
      await turns.next();
      const entry = queue.pop();
      if (!entry) return;
      const { namespace, name } = entry;
      try {
        await remove(writing, request, { ...collection, namespace, name }, options);
      } catch (error) {
        // Another client deleted it first, so the goal is reached.
        if ((error as { code?: number }).code !== 404) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(collectionWidth, queue.length) }, worker));
  return { entries, revision };
}
