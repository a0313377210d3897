/**
 * Delete: an object is removed at once, or marked and kept while a grace period or finalizers hold it. Objects
 * that are only marked go with the write that releases them (see modify.ts).
 */
import { invalidOptions, modified, preconditionConflict } from '../api/errors.ts';
import { type FieldError, invalid, notSupported } from '../api/fielderror.ts';
import type { Kind } from '../api/kind.ts';
import type { ApiObject } from '../api/object.ts';
import { formatTime, timeToMs } from '../api/time.ts';
import { type Admission, admitted } from './admission/admission.ts';
import { Entry } from './entry.ts';
import type { Filter } from './filter.ts';
import { isReleased } from './modify.ts';
import type { Registry } from './registry.ts';
import type { Request } from './request.ts';
import { type Target, targetOf } from './target.ts';

type Propagation = 'Background' | 'Foreground' | 'Orphan';

export interface DeleteOptions {
  gracePeriodSeconds?: number;
  preconditions?: { uid?: string; resourceVersion?: string };
  orphanDependents?: boolean;
  propagationPolicy?: string;
  dryRun?: readonly string[];
}

export interface Deletion {
  /** The marked object, or its last state when it is gone. */
  readonly entry: Entry;
  readonly removed: boolean;
}

const policies: readonly string[] = ['Foreground', 'Background', 'Orphan'];
const collectorFinalizers: readonly string[] = ['orphan', 'foregroundDeletion'];
const roundsMax = 1000;
/** Longer grace periods are cut to a hundred years, before their end is later than a time can say. */
const graceMaxSeconds = 100 * 365 * 24 * 3600;
/** Deletes of a collection that are under way at once. */
const collectionWidth = 64;

export function checkDeleteOptions(options: DeleteOptions): void {
  const errors: FieldError[] = [];
  const policy = options.propagationPolicy;
  if (policy !== undefined && !policies.includes(policy))
    errors.push(notSupported('propagationPolicy', policy, [...policies, 'nil']));
  else if (policy !== undefined && options.orphanDependents !== undefined)
    errors.push(
      invalid('propagationPolicy', policy, 'orphanDependents and deletionPropagation cannot be both set'),
    );
  if (options.dryRun?.some((value) => value !== 'All'))
    errors.push(notSupported('dryRun', options.dryRun, ['All']));
  if (errors.length) throw invalidOptions('DeleteOptions', errors);
}

export async function remove(
  registry: Registry,
  request: Request,
  target: Target,
  options: DeleteOptions,
): Promise<Deletion> {
  const { kind, name } = target;
  checkDeleteOptions(options);
  const behind = registry.view.caughtUp();
  if (behind) await registry.inTime(behind, request.deadlineMs);
  for (let round = 1; round <= roundsMax; round++) {
    const current = registry.find(target);
    const object = current.object();
    checkDeletePreconditions(kind, name, options, object, current);
    const admission: Admission = {
      request,
      target,
      operation: 'delete',
      object: undefined,
      // Parsed for a plugin that asks: most deletes are admitted without a look at the object.
      get old() {
        return kind === current.kind ? current.peek() : current.object(kind);
      },
      afterwards: [],
    };
    mark(registry, kind, object, options);
    const deletion = await admitted(registry, admission, () => carryOut(registry, request, current, object));
    if (deletion) return deletion;
  }
  throw modified(kind, name);
}

/** Removes a released object, stores a marked one. Undefined: another writer was faster. */
async function carryOut(
  registry: Registry,
  request: Request,
  current: Entry,
  object: ApiObject,
): Promise<Deletion | undefined> {
  const { kind, namespace, name } = current;
  const value = registry.encode(request, targetOf(current), object, current);
  const removed = isReleased(kind, object);
  if (!removed && current.holds(value)) return { entry: current, removed: false };
  if (request.dryRun) return { entry: Entry.of(kind, namespace, name, value, current.revision), removed };
  const revision = await registry.commit(request, current, removed ? null : value, current.revision);
  if (revision === undefined) return undefined;
  if (!removed) return { entry: registry.entryOf(current, value, revision), removed };
  return {
    entry: lastState(kind, object) ? Entry.of(kind, namespace, name, value, revision) : current,
    removed,
  };
}

/** Only pods show, when they are gone, that they were marked before; other kinds answer with the stored state. */
const lastState = (kind: Kind, object: ApiObject): boolean =>
  kind.gracePeriodSeconds !== undefined || object.metadata.finalizers !== undefined;

/** Refuses a delete that was meant for another object, or another version of it. */
export function checkDeletePreconditions(
  kind: Kind,
  name: string,
  options: DeleteOptions,
  object: ApiObject,
  current: Entry,
): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
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

/** Marks an object for deletion. An object that nothing holds is released by this alone. */
function mark(registry: Registry, kind: Kind, object: ApiObject, options: DeleteOptions): void {
  const meta = object.metadata;
  const first = !meta.deletionTimestamp;
  const nowMs = registry.chance.nowMs();
  if (kind.id === 'core/namespaces') {
    meta.deletionTimestamp ??= formatTime(nowMs);
    if (first) object.status = { ...(object.status as object), phase: 'Terminating' };
    setCollectorFinalizers(kind, object, options);
    return;
  }
  setCollectorFinalizers(kind, object, options);
  const grace = kind.gracePeriodSeconds?.(object, requestedGrace(options));
  if (grace) markGraceful(object, Math.min(grace, graceMaxSeconds), options, nowMs);
  else if (grace === 0 || first || !meta.finalizers?.length) {
    meta.deletionTimestamp ??= formatTime(nowMs);
    meta.deletionGracePeriodSeconds = 0;
  }
  if (first && kind.generationOf) meta.generation = (meta.generation ?? 0) + 1;
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

/** What becomes of dependents is written into the object as a finalizer for the garbage collector. */
function setCollectorFinalizers(kind: Kind, object: ApiObject, options: DeleteOptions): void {
  if (kind.uncollected) return;
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
  // A namespace gets a collector finalizer only when a policy is asked for.
  return kind.id === 'core/namespaces' ? 'Background' : kind.defaultPropagation;
}

/** Deletes everything a filter chooses; answers with what was found. */
export async function removeCollection(
  registry: Registry,
  request: Request,
  collection: Target,
  filter: Filter,
  options: DeleteOptions,
  limit: number | undefined,
): Promise<{ entries: readonly Entry[]; revision: number }> {
  checkDeleteOptions(options);
  const behind = registry.view.caughtUp();
  if (behind) await registry.inTime(behind, request.deadlineMs);
  const { entries } = registry.view.collection(collection.kind).select(filter, { limit });
  const revision = registry.view.revision;
  const queue = [...entries];
  const worker = async (): Promise<void> => {
    for (let entry = queue.pop(); entry; entry = queue.pop()) {
      const { namespace, name } = entry;
      try {
        await remove(registry, request, { ...collection, namespace, name }, options);
      } catch (error) {
        // Another client deleted it first: that is what was asked for.
        if ((error as { code?: number }).code !== 404) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(collectionWidth, queue.length) }, worker));
  return { entries, revision };
}
