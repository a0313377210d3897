/** The kinds a server knows: the built-in ones, of all groups, and those that come while it runs. */

import { composedKey } from '../../composed-key.ts';
import type { ChosenMinor } from '../kind/chosen-minor.ts';
import type { Kind, ResourceId } from '../kind/kind.ts';
import { checkedChange, type KindChange, type Preparation, type WantedChange } from '../kind/kind-change.ts';
import { builtinModels, type Models } from '../model/model.ts';
import { groups } from './groups.ts';

/** Kinds of the core first, then of groups with higher priority first, as clients find them in discovery. */
export const builtinKinds: readonly Kind[] = [...groups]
  .sort((a, b) => Number(!b.name) - Number(!a.name) || (b.priority ?? 0) - (a.priority ?? 0))
  .flatMap(({ kinds = [] }) => kinds);

/**
 * The kinds a server knows. They can be added, replaced and removed while it runs: first everything that takes part
 * gets ready (the view loads the objects), then the table changes in one step, then followers are called. Documents
 * made from the table are rebuilt when its generation has changed.
 */
export class KindTable {
  /** Kinds by version and resource, in the order in which they were added. */
  readonly #all = new Map<string, Kind>();
  /** Kinds by version, then by name: `v1` and `pods`, `v1` and `Pod`. */
  readonly #byResource = new Map<string, Map<string, Kind>>();
  readonly #byKind = new Map<string, Map<string, Kind>>();
  /** The served versions of each id. */
  readonly #versions = new Map<ResourceId, Set<Kind>>();
  readonly #generations = new Map<string, number>();
  #generation = 1;
  readonly #preparations = new Set<Preparation>();
  readonly #followers = new Set<(change: KindChange) => void>();
  readonly #presented = new WeakMap<Kind, Kind>();
  /** Changes are made one after the other; this settles with the newest. */
  #newest: Promise<unknown> = Promise.resolve();

  /**
   * @param isEnabled whether a built-in resource is served; the server itself knows also those that are not
   * @param minor the minor of Kubernetes that clients see; the server itself works with the kinds as they are
   */
  constructor(
    kinds: readonly Kind[] = builtinKinds,
    private readonly isEnabled: (apiVersion: string, resource?: string) => boolean = () => true,
    readonly minor?: ChosenMinor,
  ) {
    for (const kind of kinds) this.#put(kind);
  }

  /** Whether clients are served a resource of a version, or the version as a whole. */
  serves(apiVersion: string, resource?: string): boolean {
    return this.isEnabled(apiVersion, resource);
  }

  add(...kinds: Kind[]): Promise<void> {
    return this.change({ add: kinds });
  }

  /** Replaces kinds of the same version and resource. Stored objects belong to the new ones from then on. */
  replace(...kinds: Kind[]): Promise<void> {
    return this.change({ replace: kinds });
  }

  /** Removes kinds. Their objects stay in the store. */
  remove(...kinds: Kind[]): Promise<void> {
    return this.change({ remove: kinds });
  }

  /** Resolves when the change is made and followers were called; rejects when it is refused. */
  change(wanted: WantedChange): Promise<void> {
    const done = this.#newest.then(() => this.#change(wanted));
    this.#newest = done.catch(() => undefined);
    return done;
  }

  async #change(wanted: WantedChange): Promise<void> {
    const change = checkedChange(this, wanted);
    const outcomes = await Promise.allSettled(
      [...this.#preparations].map(async (prepare) => prepare(change)),
    );
    const prepared = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) {
      for (const { abandon } of prepared) abandon();
      throw failed.reason;
    }
    this.#generation++;
    for (const kind of change.removed) this.#drop(kind);
    for (const kind of [...change.replaced, ...change.added]) this.#put(kind);
    for (const { commit } of prepared) commit();
    this.#tell(change);
  }

  /** Calls all followers, also when one of them throws. */
  #tell(change: KindChange): void {
    const failures: unknown[] = [];
    for (const follower of [...this.#followers])
      try {
        follower(change);
      } catch (error) {
        failures.push(error);
      }
    if (failures.length) throw failures[0];
  }

  #put(kind: Kind): void {
    const { apiVersion, resource } = kind;
    const before = this.find(apiVersion, resource);
    if (before) this.#forget(before);
    this.#all.set(composedKey(apiVersion, resource), kind);
    if (!kind.hidden) {
      named(this.#byResource, apiVersion).set(resource, kind);
      named(this.#byKind, apiVersion).set(kind.kind, kind);
    }
    const { id } = kind.storage;
    const versions = this.#versions.get(id);
    if (versions) versions.add(kind);
    else this.#versions.set(id, new Set([kind]));
    this.#touch(apiVersion);
  }

  #drop(kind: Kind): void {
    this.#all.delete(composedKey(kind.apiVersion, kind.resource));
    this.#forget(kind);
    this.#touch(kind.apiVersion);
  }

  /** The version has changed in this generation; one without kinds is not known any more. */
  #touch(apiVersion: string): void {
    this.#generations.set(apiVersion, this.#generation);
    if (!this.#byResource.get(apiVersion)?.size)
      for (const map of [this.#byResource, this.#byKind, this.#generations]) map.delete(apiVersion);
  }

  #forget(kind: Kind): void {
    const { apiVersion, resource } = kind;
    if (!kind.hidden) {
      this.#byResource.get(apiVersion)!.delete(resource);
      this.#byKind.get(apiVersion)!.delete(kind.kind);
    }
    const versions = this.#versions.get(kind.storage.id)!;
    versions.delete(kind);
    if (versions.size === 0) this.#versions.delete(kind.storage.id);
  }

  /** Registers a participant, which gets ready before a change is visible. Returns a function to unregister. */
  prepareWith(preparation: Preparation): () => void {
    this.#preparations.add(preparation);
    return () => this.#preparations.delete(preparation);
  }

  /** Calls back after every change. Returns a function to unregister. */
  follow(follower: (change: KindChange) => void): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** Increases with every change. */
  get generation(): number {
    return this.#generation;
  }

  /** The generation in which the kinds of a version last changed; 0 for a version without kinds. */
  generationOf(apiVersion: string): number {
    return this.#generations.get(apiVersion) ?? 0;
  }

  /** Whether there are kinds of a version, served or not. */
  hasVersion(apiVersion: string): boolean {
    return this.#byResource.has(apiVersion);
  }

  /** A kind by version and resource (`v1` and `pods`), also when it is not served. */
  find(apiVersion: string, resource: string): Kind | undefined {
    return this.#all.get(composedKey(apiVersion, resource));
  }

  /** A served kind by version and resource: `v1` and `pods`. */
  resource(apiVersion: string, resource: string): Kind | undefined {
    return this.#byResource.get(apiVersion)?.get(resource);
  }

  /** A served kind by version and kind: `v1` and `Pod`. */
  kind(apiVersion: string, kind: string): Kind | undefined {
    return this.#byKind.get(apiVersion)?.get(kind);
  }

  /** The kinds of `v1` that are served, as clients see them. */
  *inVersion(apiVersion: string): Iterable<Kind> {
    for (const kind of this.#byResource.get(apiVersion)?.values() ?? [])
      if (this.#isServed(kind)) yield this.shown(kind);
  }

  /** The kind as clients see it. */
  shown(kind: Kind): Kind {
    return this.minor ? this.minor.shown(kind) : kind;
  }

  /** The kind as which clients see a write of the server itself: one that is not served is seen in a version that is. */
  presented(kind: Kind): Kind {
    if (!this.minor || kind.custom) return kind;
    let presented = this.#presented.get(kind);
    if (!presented) {
      const [served = kind] = this.#isServed(kind) ? [kind] : this.shownVersions(kind.storage.id);
      presented = this.shown(served);
      this.#presented.set(kind, presented);
    }
    return presented;
  }

  /** The served kinds whose objects are stored under an id, as clients see them. */
  *shownVersions(id: ResourceId): Iterable<Kind> {
    for (const kind of this.versions(id)) if (!kind.hidden && this.#isServed(kind)) yield this.shown(kind);
  }

  /** The models of the built-in kinds as clients see them. */
  get models(): Models {
    return this.minor?.models ?? builtinModels;
  }

  #isServed({ custom, apiVersion, resource }: Kind): boolean {
    return custom || this.isEnabled(apiVersion, resource);
  }

  /** All kinds whose objects are stored under an id. */
  versions(id: ResourceId): Iterable<Kind> {
    return this.#versions.get(id) ?? [];
  }

  /** The stored kinds, each once, whatever the number of its served versions. */
  *stored(): Iterable<Kind> {
    for (const kind of this.#all.values()) if (kind.storage === kind) yield kind;
  }

  /** The served kinds as the server knows them: what clients see of one is worked out when it is asked for. */
  *served(): Iterable<Kind> {
    for (const kind of this.#all.values()) if (!kind.hidden && this.#isServed(kind)) yield kind;
  }

  /** The served kinds as clients see them, in the order in which they were added. */
  *[Symbol.iterator](): IterableIterator<Kind> {
    for (const kind of this.served()) yield this.shown(kind);
  }
}

function named(versions: Map<string, Map<string, Kind>>, apiVersion: string): Map<string, Kind> {
  let names = versions.get(apiVersion);
  if (!names) {
    names = new Map();
    versions.set(apiVersion, names);
  }
  return names;
}
