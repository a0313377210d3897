/**
 * The namespace controller: deletes the content of a namespace that is being deleted, reports progress in its status,
 * and removes its finalizer when nothing is left. Pods go first, because they may need other objects until they have
 * stopped.
 */
import type { Namespace, NamespaceCondition } from '../api/generated/types.ts';
import type { Kind } from '../api/kind/kind.ts';
import { semanticEqual } from '../api/text/object.ts';
import { removeRemains } from '../registry/namespace-remains.ts';
import type { Registry } from '../registry/registry.ts';
import { collectionOf, targetOf } from '../registry/target.ts';
import { removeCollection } from '../registry/verbs/delete.ts';
import { modify } from '../registry/verbs/modify.ts';
import type { Entry } from '../registry/view/entry.ts';
import { everything, Filter } from '../registry/view/filter.ts';
import type { Writing } from '../registry/writing.ts';
import { type Controller, running, type Writer } from './shared/controller.ts';
import { observeKinds } from './shared/kind-observation.ts';
import { WorkQueue } from './shared/work-queue.ts';

/** The remaining content of a namespace: number of objects per resource, and of objects per finalizer. */
interface Remains {
  readonly resources: Map<string, number>;
  readonly finalizers: Map<string, number>;
}

export const namespaceController: Controller = {
  name: 'namespace',
  housekeeping: true,
  writer: 'namespace-controller',
  start(context) {
    const { registry, writing, settings, onError } = context;
    const queue = new WorkQueue({
      timers: context.registry.timers,
      work: (name) => empty(context, name),
      onError: (_, error) => onError(error),
    });
    const namespaces = registry.view.collection('core/namespaces');
    const queueAll = (): void => {
      for (const { name } of namespaces.select(everything).entries) queue.add(name);
    };
    const observation = observeKinds(context, {
      observed: (kind, entry, previous) => {
        if (kind.id === 'core/namespaces') {
          if (!entry) return;
          if (settings.namespaceGraceMs > 0) queue.addAfter(entry.name, settings.namespaceGraceMs);
          else queue.add(entry.name);
        } else if (kind.namespaced && (!entry || !previous)) {
          const { namespace } = (entry ?? previous)!;
          // A write that was accepted before the deletion began may be stored after it, even after the namespace is
          // gone.
          if (isGoing(writing, namespace)) queue.add(namespace);
        }
      },
      // A kind that is added may have objects to delete; a removed one no longer has to be waited for.
      came: (kind) => {
        if (kind.namespaced && registry.view.collection(kind).size > 0) queueAll();
      },
      went: (kind) => {
        if (kind.namespaced) queueAll();
      },
    });
    return running([observation], [queue]);
  },
};

function isGoing(writing: Writing, namespace: string): boolean {
  const entry = writing.registry.view.collection('core/namespaces').get('', namespace);
  return entry ? entry.mayBeMarked : writing.admission.asksForNamespaces;
}

async function empty(writer: Writer, name: string): Promise<void> {
  const { registry, writing } = writer;
  const entry = registry.view.collection('core/namespaces').get('', name);
  if (!entry)
    return writing.admission.asksForNamespaces
      ? removeRemains(registry, name, registry.view.revision)
      : undefined;
  if (!entry.mayBeMarked) return;
  const namespace = entry.object() as Namespace;
  if (!namespace.metadata.deletionTimestamp || !namespace.spec?.finalizers?.includes('kubernetes')) return;
  const kinds = [...registry.kinds.stored()].filter((kind) => kind.namespaced);
  const pods = kinds.filter((kind) => kind.id === 'core/pods');
  await clear(writer, name, pods);
  if (remainsOf(registry, name, pods).resources.size === 0)
    await clear(
      writer,
      name,
      kinds.filter((kind) => kind.id !== 'core/pods'),
    );
  const remains = remainsOf(registry, name, kinds);
  await report(writer, entry, remains);
  if (remains.resources.size === 0) await release(writer, entry);
}

async function clear(
  { registry, writing, request }: Writer,
  namespace: string,
  kinds: readonly Kind[],
): Promise<void> {
  const filter = new Filter(namespace, undefined, undefined, undefined);
  for (const kind of kinds) {
    if (registry.view.collection(kind).select(filter, { limit: 1 }).entries.length === 0) continue;
    await removeCollection(
      writing,
      request('deletecollection'),
      collectionOf(kind, namespace),
      filter,
      { propagationPolicy: 'Background' },
      undefined,
    );
  }
}

function remainsOf(registry: Registry, namespace: string, kinds: readonly Kind[]): Remains {
  const remains: Remains = { resources: new Map(), finalizers: new Map() };
  const filter = new Filter(namespace, undefined, undefined, undefined);
  for (const kind of kinds) {
    const { entries } = registry.view.collection(kind).select(filter);
    if (entries.length) remains.resources.set(`${kind.resource}.${kind.group}`, entries.length);
    for (const entry of entries)
      for (const finalizer of entry.object().metadata.finalizers ?? [])
        remains.finalizers.set(finalizer, (remains.finalizers.get(finalizer) ?? 0) + 1);
  }
  return remains;
}

const sortedTexts = (counts: Map<string, number>, text: (name: string, count: number) => string): string =>
  [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => text(name, count))
    .join(', ');

function conditionsOf({ resources, finalizers }: Remains): NamespaceCondition[] {
  const fine = (type: string, reason: string, message: string) => ({
    type,
    status: 'False',
    reason,
    message,
  });
  return [
    fine('NamespaceDeletionDiscoveryFailure', 'ResourcesDiscovered', 'All resources successfully discovered'),
    fine(
      'NamespaceDeletionGroupVersionParsingFailure',
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ),
    fine(
      'NamespaceDeletionContentFailure',
      'ContentDeleted',
      'All content successfully deleted, may be waiting on finalization',
    ),
    resources.size
      ? {
          type: 'NamespaceContentRemaining',
          status: 'True',
          reason: 'SomeResourcesRemain',
          message: `Some resources are remaining: ${sortedTexts(resources, (name, count) => `${name} has ${count} resource instances`)}`,
        }
      : fine('NamespaceContentRemaining', 'ContentRemoved', 'All content successfully removed'),
    finalizers.size
      ? {
          type: 'NamespaceFinalizersRemaining',
          status: 'True',
          reason: 'SomeFinalizersRemain',
          message: `Some content in the namespace has finalizers remaining: ${sortedTexts(finalizers, (name, count) => `${name} in ${count} resource instances`)}`,
        }
      : fine(
          'NamespaceFinalizersRemaining',
          'ContentHasNoFinalizers',
          'All content-preserving finalizers finished',
        ),
  ];
}

/** Writes the conditions; lastTransitionTime changes only with the status. */
async function report({ registry, writing, request }: Writer, entry: Entry, remains: Remains): Promise<void> {
  await modify(writing, request('update'), targetOf(entry, 'status'), (current) => {
    const namespace = current.object() as Namespace;
    const before = namespace.status?.conditions ?? [];
    const conditions = conditionsOf(remains).map((condition) => {
      const old = before.find((one) => one.type === condition.type);
      const same = old && semanticEqual({ ...old, lastTransitionTime: undefined }, condition);
      if (same) return old;
      return {
        ...condition,
        lastTransitionTime: old?.status === condition.status ? old?.lastTransitionTime : registry.now(),
      };
    });
    namespace.status = { ...namespace.status, conditions };
    return namespace;
  });
}

async function release({ writing, request }: Writer, entry: Entry): Promise<void> {
  await modify(writing, request('update'), targetOf(entry, 'finalize'), (current) => {
    const namespace = current.object() as Namespace;
    const finalizers = (namespace.spec?.finalizers ?? []).filter((finalizer) => finalizer !== 'kubernetes');
    namespace.spec = { ...namespace.spec, finalizers };
    return namespace;
  });
}
