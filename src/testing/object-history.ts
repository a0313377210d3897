/** The history of objects: every version that was stored, who wrote it, and what it changed. */
import { isDeepStrictEqual } from 'node:util';
import { isJsonObject } from '../api/text/object.ts';
import type { Registry } from '../registry/registry.ts';
import type { Request } from '../registry/request.ts';
import type { Place } from '../registry/target.ts';
import { storeKey } from '../registry/view/key.ts';
import type { Change, Stored } from '../store/store.ts';

/** Versions that are kept, of all objects together; the oldest go first. */
const versionsMax = 100_000;

/** One field that a version changed. */
export interface FieldChange {
  /** Such as `spec.replicas` or `status.conditions[0].status`. */
  readonly path: string;
  /** Undefined: it was not there. */
  readonly before: unknown;
  /** Undefined: it is gone. */
  readonly after: unknown;
}

/** One version of an object. */
export interface ObjectVersion {
  /** When it was stored, as an ISO time on the cluster's clock. */
  readonly time: string;
  readonly resourceVersion: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** The user that wrote it; empty for what the kit itself restored. */
  readonly user: string;
  /** The field manager: the program that wrote it. */
  readonly manager: string;
  readonly verb: string;
  /** The whole object; undefined when it was deleted. */
  readonly object: Record<string, unknown> | undefined;
  /** What it changed, managed fields and the version itself aside. */
  readonly changes: readonly FieldChange[];
}

interface Writer {
  readonly user: string;
  readonly manager: string;
  readonly verb: string;
}

const restored: Writer = { user: '', manager: '', verb: 'restore' };

export class ObjectHistory {
  #changes: Change[] = [];
  /** The objects that existed when recording began. */
  #first: readonly Stored[] = [];
  readonly #writers = new Map<number, Writer>();

  /** Records who wrote a version. */
  noteWriter(request: Request, revision: number): void {
    this.#writers.set(revision, writerOf(request));
  }

  /** Starts to record writes. */
  attach(registry: Registry): void {
    registry.store.watch(registry.view.revision, (changes) => this.#take(changes));
  }

  /** Starts anew, with these objects. */
  clear(first: readonly Stored[]): void {
    this.#changes = [];
    this.#first = first;
    this.#writers.clear();
  }

  /** The versions of an object, oldest first. */
  of({ kind, namespace, name }: Place): ObjectVersion[] {
    const key = storeKey(kind.storage.id, namespace, name);
    const versions: ObjectVersion[] = [];
    const first = this.#first.find((one) => one.key === key);
    let before = first && objectOf(first.value, first.revision);
    for (const { key: changed, value, revision, timeMs } of this.#changes) {
      if (changed !== key) continue;
      const object = value === null ? undefined : objectOf(value, revision);
      versions.push({
        time: new Date(timeMs).toISOString(),
        resourceVersion: String(revision),
        type: object === undefined ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED',
        ...(this.#writers.get(revision) ?? restored),
        object,
        changes: before && object ? fieldChanges(before, object) : [],
      });
      before = object;
    }
    return versions;
  }

  #take(changes: readonly Change[]): void {
    this.#changes.push(...changes);
    if (this.#changes.length <= versionsMax) return;
    for (const { revision } of this.#changes.splice(0, versionsMax / 10)) this.#writers.delete(revision);
  }
}

const writerOf = ({ user, fieldManager, verb }: Request): Writer => ({
  user: user.name,
  manager: fieldManager,
  verb,
});

function objectOf(value: Buffer, revision: number): Record<string, unknown> {
  const object = JSON.parse(value.toString('utf8')) as { metadata: Record<string, unknown> };
  object.metadata.resourceVersion = String(revision);
  return object as unknown as Record<string, unknown>;
}

const uninteresting = new Set(['metadata.resourceVersion', 'metadata.managedFields']);

/** The fields in which two versions differ, at the deepest level. */
function fieldChanges(before: unknown, after: unknown, path = ''): FieldChange[] {
  if (uninteresting.has(path) || isDeepStrictEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after))
    return Array.from({ length: Math.max(before.length, after.length) }, (_, i) =>
      fieldChanges(before[i], after[i], `${path}[${i}]`),
    ).flat();
  if (isJsonObject(before) && isJsonObject(after))
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) =>
      fieldChanges(before[name], after[name], path ? `${path}.${name}` : name),
    );
  return [{ path, before, after }];
}
