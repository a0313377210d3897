/**
 * The life of definitions: their names are accepted, their kinds are put into the table of kinds, changed there and
 * removed, and their objects are deleted with them. It is part of every server, whether controllers run or not. Several
 * servers on one store do the same work, and come to the same results.
 *
 *   created → names compared (NamesAccepted) → kinds in the table → Established
 *   changed → names compared, kinds replaced
 *   marked for deletion → objects deleted (`cleanup.ts`) → finalizer removed → gone: kinds removed
 */

import { StatusError } from '../../api/errors/errors.ts';
import type { CustomResourceDefinition } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import {
  cleanupFinalizer,
  customResourceDefinition,
  definitionCondition,
} from '../../api/kinds/apiextensions/custom-resource-definition.ts';
import { normalized } from '../../api/model/encode.ts';
import { withCondition } from '../../api/rules/shared/condition.ts';
import { jsonText } from '../../api/text/json-text.ts';
import { type ApiObject, cloneJson, type JsonObject, semanticEqual } from '../../api/text/object.ts';
import { targetOf } from '../../registry/target.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { Collection } from '../../registry/view/collection.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { everything } from '../../registry/view/filter.ts';
import { Watcher } from '../../registry/view/watcher.ts';
import { actingAs } from '../../registry/writers.ts';
import type { Writing } from '../../registry/writing.ts';
import type { HookCaller } from '../calls/hook-client.ts';
import { establishedCondition, namedStatus, takenNames } from './accepted-names.ts';
import { Cleanup } from './cleanup.ts';
import { type KindTools, kindsOf } from './custom-kind.ts';
import { DefinitionIndex } from './definition-index.ts';
import { digestOf } from './digest.ts';
import { removeForgottenObjects, removeObjectsOf } from './leftovers.ts';

/** How long a definition waits after an error before it is looked at again. */
const retryMs = 1000;
/**
 * Maximum number of groups processed concurrently. Definitions of one group are processed one after the other, because
 * their names are compared.
 */
const groupsMax = 16;

/** The kinds of a definition that are in the table. */
interface Served {
  /** Digest of the definition that they were made from. */
  readonly source: string;
  readonly kinds: readonly Kind[];
}

/**
 * What is done about definitions beside serving them. `all`: as the servers of a cluster do. `changes`: nothing about what is
 * there at the start, as in a copy that can be changed. `none`: nothing is ever written, as in one that follows another
 * cluster, where the servers of that one do it.
 */
export type DefinitionUpkeep = 'all' | 'changes' | 'none';

export class Definitions {
  readonly #collection: Collection;
  #watcher: Watcher | undefined;
  /** Names of definitions that wait to be processed, in order. */
  readonly #waiting = new Set<string>();
  #working: Promise<void> | undefined;
  readonly #served = new Map<string, Served>();
  readonly #index = new DefinitionIndex();
  readonly #cleanups = new Map<string, Cleanup>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #closed = false;
  readonly #tools: KindTools;

  constructor(
    private readonly writing: Writing,
    /** Calls conversion webhooks. */
    hooks: HookCaller,
    private readonly report: (error: Error) => void,
    private readonly upkeep: DefinitionUpkeep = 'all',
  ) {
    const { registry } = writing;
    const ratchets = registry.kinds.minor?.isOn('CRDValidationRatcheting') ?? true;
    this.#tools = { hooks, uid: () => registry.sources.uid(), ratchets };
    this.#collection = registry.view.collection(customResourceDefinition);
  }

  /** Resolves when the kinds of all established definitions are served. */
  async start(): Promise<void> {
    const entries = this.#collection.select(everything).entries;
    const added: Kind[] = [];
    for (const entry of entries) {
      const definition = definitionOf(entry);
      this.#index.set(definition);
      if (this.upkeep === 'all' && !isSettled(definition)) this.#waiting.add(entry.name);
      if (!isServed(definition)) continue;
      const kinds = this.#kindsOf(definition);
      this.#served.set(entry.name, { source: sourceOf(definition), kinds });
      added.push(...kinds);
    }
    if (this.upkeep === 'none') added.push(...this.#pastKinds());
    if (added.length) await this.writing.registry.kinds.add(...added);
    this.#watch();
    if (this.#waiting.size) this.#begin();
    if (this.upkeep === 'all')
      removeForgottenObjects(this.writing.registry).catch((error: Error) => {
        // The next start goes on with it.
        if (!this.#closed) this.report(error);
      });
  }

  /** Kinds of definitions that history has, and the present does not: their objects can be listed in the past. */
  #pastKinds(): Kind[] {
    const kinds: Kind[] = [];
    for (let number = this.#collection.endNumber - 1; number >= this.#collection.startNumber; number--) {
      const event = this.#collection.event(number)!;
      if (event.entry || this.#served.has(event.name) || this.#collection.get('', event.name)) continue;
      const definition = definitionOf(event.previous!);
      if (!isServed(definition)) continue;
      const past = this.#kindsOf(definition);
      this.#served.set(event.name, { source: sourceOf(definition), kinds: past });
      kinds.push(...past);
    }
    return kinds;
  }

  /** Whether no definition is being looked at. */
  get settled(): boolean {
    return this.#working === undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#watcher?.close();
    for (const timer of this.#timers) clearTimeout(timer);
    for (const cleanup of this.#cleanups.values()) cleanup.close();
    await this.#working;
  }

  #watch(): void {
    const start = { state: undefined, position: this.#collection.endNumber };
    this.#watcher = new Watcher(this.#collection, everything, start, {
      send: (notices) => {
        for (const { event } of notices) if (event) this.#enqueue(event.name);
        return true;
      },
      stateSent: () => undefined,
      expired: () => {
        if (this.#closed) return;
        this.#watch();
        for (const name of this.#served.keys()) this.#enqueue(name);
        for (const { name } of this.#collection.select(everything).entries) this.#enqueue(name);
      },
    });
  }

  #enqueue(name: string): void {
    if (this.#closed) return;
    this.#waiting.add(name);
    this.#begin();
  }

  #begin(): void {
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
      // A definition may have been added after the last was processed.
      if (this.#waiting.size && !this.#closed) this.#begin();
    });
  }

  async #work(): Promise<void> {
    // A tick later, so that changes which arrive together are handled together.
    await null;
    while (this.#waiting.size && !this.#closed) {
      const groups = new Map<string, string[]>();
      for (const name of this.#waiting) {
        const group = groupOf(name);
        groups.set(group, [...(groups.get(group) ?? []), name]);
      }
      this.#waiting.clear();
      const queue = [...groups.values()];
      const worker = async (): Promise<void> => {
        for (let names = queue.pop(); names; names = queue.pop())
          for (const name of names) await this.#handleSafely(name);
      };
      await Promise.all(Array.from({ length: Math.min(groupsMax, queue.length) }, worker));
    }
  }

  async #handleSafely(name: string): Promise<void> {
    if (this.#closed) return;
    try {
      await this.#handle(name);
    } catch (error) {
      this.report(error as Error);
      this.#enqueueLater(name);
    }
  }

  #enqueueLater(name: string): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#enqueue(name);
    }, retryMs);
    timer.unref();
    this.#timers.add(timer);
  }

  async #handle(name: string): Promise<void> {
    const entry = this.#collection.get('', name);
    if (!entry) return this.#gone(name);
    let definition = definitionOf(entry);
    this.#index.set(definition);
    if (this.upkeep === 'none') return this.#serve(definition);
    if (!definition.metadata.deletionTimestamp) {
      const named = (current: CustomResourceDefinition) =>
        namedStatus(current, this.#takenBeside(current), this.writing.registry.now());
      if (!semanticEqual(named(definition), definition.status)) {
        const accepted = await this.#write(definition, (current) => {
          current.status = named(current);
        });
        if (!accepted) return this.#enqueue(name);
        this.#index.set(accepted);
        if (namesChanged(definition, accepted)) this.#enqueueGroup(definition);
        definition = accepted;
      }
    }
    await this.#serve(definition);
    if (definition.metadata.deletionTimestamp) return this.#cleanUp(definition);
    if (isAccepted(definition) && !isEstablished(definition)) {
      const condition = establishedCondition(definition);
      const before = definitionCondition(definition, 'Established');
      if (before?.reason === condition.reason) return;
      await this.#write(definition, (current) => {
        if (!isAccepted(current)) return;
        const { conditions } = current.status!;
        current.status!.conditions = withCondition(conditions, condition, this.writing.registry.now());
      });
    }
  }

  /** Names of the other kinds in the group of a definition. */
  #takenBeside({ metadata, spec }: CustomResourceDefinition) {
    const others = this.#index.namesBeside(spec?.group ?? '', metadata.name!);
    const builtIn = (spec?.versions ?? []).flatMap(({ name }) =>
      [...this.writing.registry.kinds.inVersion(`${spec?.group}/${name}`)].filter(
        (kind) => !kind.incarnation,
      ),
    );
    return takenNames([
      ...others,
      ...builtIn.map(({ resource, singular, shortNames, kind, listKind }) => ({
        plural: resource,
        singular,
        shortNames: [...shortNames],
        kind,
        listKind,
      })),
    ]);
  }

  /** Processes the waiting definitions of the group: a name may have become free. */
  #enqueueGroup({ metadata, spec }: CustomResourceDefinition): void {
    for (const name of this.#index.waitingIn(spec?.group ?? ''))
      if (name !== metadata.name) this.#enqueue(name);
  }

  /** Puts the kinds of a definition into the table, or replaces and removes them there. */
  async #serve(definition: CustomResourceDefinition): Promise<void> {
    const name = definition.metadata.name!;
    const source = sourceOf(definition);
    const before = this.#served.get(name);
    if (before?.source === source) return;
    const wanted = isServed(definition) ? this.#kindsOf(definition) : [];
    await this.#exchange(before?.kinds ?? [], wanted);
    if (wanted.length) this.#served.set(name, { source, kinds: wanted });
    else this.#served.delete(name);
  }

  /** Copies of clusters ask no webhook for conversions: versions differ in their names alone. */
  #kindsOf(stored: CustomResourceDefinition): Kind[] {
    const definition = this.#shown(stored);
    if (this.upkeep === 'all') return kindsOf(definition, this.#tools);
    const spec = { ...definition.spec, conversion: undefined };
    return kindsOf({ ...definition, spec } as CustomResourceDefinition, this.#tools);
  }

  /** The definition as clients see it: what a minor of Kubernetes does not know, such as rules, is not in force. */
  #shown(stored: CustomResourceDefinition): CustomResourceDefinition {
    const { model, stored: form } = this.writing.registry.kinds.shown(customResourceDefinition);
    if (!form) return stored;
    const shown = form.fromStored(cloneJson(stored) as ApiObject);
    return normalized(model, shown as unknown as JsonObject) as unknown as CustomResourceDefinition;
  }

  async #exchange(before: readonly Kind[], wanted: readonly Kind[]): Promise<void> {
    const had = new Map(before.map((kind) => [kind.apiVersion, kind]));
    const versions = new Set(wanted.map(({ apiVersion }) => apiVersion));
    // Kinds of a definition that was deleted and created again are different kinds, even with the same names.
    const isSame = (kind: Kind): boolean => had.get(kind.apiVersion)?.incarnation === kind.incarnation;
    const remove = before.filter(
      (kind) => !versions.has(kind.apiVersion) || kind.incarnation !== wanted[0]?.incarnation,
    );
    if (remove.length && remove.length === before.length) {
      await this.writing.registry.kinds.remove(...remove);
      if (wanted.length) await this.writing.registry.kinds.add(...wanted);
      return;
    }
    if (!remove.length && !wanted.length) return;
    await this.writing.registry.kinds.change({
      add: wanted.filter((kind) => !isSame(kind)),
      replace: wanted.filter(isSame),
      remove,
    });
  }

  async #gone(name: string): Promise<void> {
    this.#cleanups.get(name)?.close();
    this.#cleanups.delete(name);
    const served = this.#served.get(name);
    // A recording has objects of the kind in its history.
    if (this.upkeep === 'none') return;
    this.#served.delete(name);
    if (served) {
      await this.writing.registry.kinds.remove(...served.kinds);
      await removeObjectsOf(this.writing.registry, served.kinds[0]!.storage.id);
    }
    this.#index.delete(name);
    for (const other of this.#index.waitingIn(groupOf(name))) this.#enqueue(other);
  }

  #cleanUp(definition: CustomResourceDefinition): void {
    const name = definition.metadata.name!;
    if (!definition.metadata.finalizers?.includes(cleanupFinalizer) || this.#cleanups.has(name)) return;
    const kinds = this.#served.get(name)?.kinds ?? [];
    const cleanup = new Cleanup(this.writing, kinds[0]?.storage, {
      write: async (change) => {
        await this.#write(definition, change, 'whole');
      },
      failed: (error) => {
        this.report(error);
        this.#cleanups.delete(name);
        this.#enqueueLater(name);
      },
    });
    this.#cleanups.set(name, cleanup);
    cleanup.start();
  }

  /** Changes a definition, unless it was deleted and created again. Undefined: it is gone. */
  async #write(
    { metadata }: CustomResourceDefinition,
    change: (current: CustomResourceDefinition) => void,
    part: 'status' | 'whole' = 'status',
  ): Promise<CustomResourceDefinition | undefined> {
    const place = { kind: customResourceDefinition, namespace: '', name: metadata.name! };
    try {
      const entry = await modify(
        this.writing,
        actingAs('kube-apiserver', 'update'),
        targetOf(place, part),
        (current) => {
          const object = current.object() as CustomResourceDefinition;
          if (object.metadata.uid === metadata.uid) change(object);
          return object as ApiObject;
        },
      );
      return definitionOf(entry);
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    }
  }
}

/** The name of a definition ends with its group. */
const groupOf = (name: string): string => name.slice(name.indexOf('.') + 1);

const definitionOf = (entry: Entry): CustomResourceDefinition => entry.peek() as CustomResourceDefinition;

const isTrue = (definition: CustomResourceDefinition, type: string): boolean =>
  definitionCondition(definition, type)?.status === 'True';
const isAccepted = (definition: CustomResourceDefinition): boolean => isTrue(definition, 'NamesAccepted');
const isEstablished = (definition: CustomResourceDefinition): boolean => isTrue(definition, 'Established');
const isServed = (definition: CustomResourceDefinition): boolean =>
  isEstablished(definition) || (isAccepted(definition) && establishedCondition(definition).status === 'True');

/** Whether nothing is left to do for a definition, except to serve it. */
const isSettled = (definition: CustomResourceDefinition): boolean =>
  isEstablished(definition) &&
  isAccepted(definition) &&
  !definition.metadata.deletionTimestamp &&
  jsonText(definition.spec?.names) === jsonText(definition.status?.acceptedNames);

const namesChanged = (before: CustomResourceDefinition, after: CustomResourceDefinition): boolean =>
  jsonText(before.status?.acceptedNames) !== jsonText(after.status?.acceptedNames);

/** The text from which the kinds of a definition are made. */
const sourceOf = (definition: CustomResourceDefinition): string =>
  digestOf([
    definition.metadata.uid,
    definition.spec,
    definition.status?.acceptedNames,
    isServed(definition),
    isTrue(definition, 'Terminating'),
  ]);
