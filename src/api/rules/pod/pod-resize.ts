/**
 * Pod resize: changes cpu and memory of the containers of a running pod. Nothing else may change, and the QoS class
 * stays the same.
 */
import { child, forbidden, index, invalid } from '../../errors/field-error.ts';
import type { Container, ContainerStatus, Pod, ResourceRequirements } from '../../generated/types.ts';
import { type Model, modelOf } from '../../model/model.ts';
import { changedFields } from '../shared/change.ts';
import type { Findings } from '../shared/findings.ts';
import { mirrorAnnotation } from './pod-references.ts';
import { qosClass } from './pod-resources.ts';

const lists = ['containers', 'initContainers'] as const;
const sides = ['requests', 'limits'] as const;
const onlyResources = 'only cpu and memory resources are mutable';

const isSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';
const isResizable = (resource: string): boolean => resource === 'cpu' || resource === 'memory';

/**
 * The stored pod with the resizable fields of the new one. When the lists of containers differ, the new lists are
 * taken whole, for validation to refuse.
 */
export function takeResources(pod: Pod, kept: Pod): void {
  const spec = { ...kept.spec };
  for (const list of lists) {
    const now = pod.spec?.[list] ?? [];
    const before = kept.spec?.[list] ?? [];
    const match = now.length === before.length && now.every(({ name }, i) => name === before[i]!.name);
    spec[list] = match
      ? before.map((container, i) => {
          const { resources, resizePolicy } = now[i]!;
          return { ...container, resources, resizePolicy };
        })
      : now;
  }
  Object.assign(pod, kept, { spec });
}

export function* resizeErrors(pod: Pod, old: Pod): Findings {
  const refusal = refusalOf(pod, old);
  if (refusal) return yield forbidden('', refusal);
  const before = old.status?.qosClass ?? qosClass(old.spec ?? {});
  const now = qosClass(pod.spec ?? {});
  if (now !== before) yield invalid('spec', now, 'Pod QOS Class may not change as a result of resizing');
  if (!isSupported(old)) yield forbidden('spec', 'Pod running on node without support for resize');
  let aligned = true;
  for (const list of lists)
    for (const error of alignmentErrors(pod.spec?.[list] ?? [], old.spec?.[list] ?? [], list)) {
      aligned = false;
      yield error;
    }
  if (aligned) for (const list of lists) yield* changeErrors(pod, old, list);
}

function refusalOf(pod: Pod, old: Pod): string | undefined {
  if (old.spec?.resources ?? pod.spec?.resources) return 'pods with pod-level resources cannot be resized';
  if (old.metadata.annotations?.[mirrorAnnotation] !== undefined) return 'static pods cannot be resized';
  return old.spec?.os?.name === 'windows' ? 'windows pods cannot be resized' : undefined;
}

/** A node that supports resizing reports the resources of running containers in the pod's status. */
function isSupported({ spec, status }: Pod): boolean {
  const statuses = new Map<string | undefined, ContainerStatus>();
  for (const one of status?.containerStatuses ?? []) statuses.set(one.name, one);
  return (spec?.containers ?? []).every(({ name, resources }) => {
    const shown = statuses.get(name);
    return !shown?.state?.running || shown.resources !== undefined || !hasAmounts(resources);
  });
}

const hasAmounts = (resources: ResourceRequirements | undefined): boolean =>
  sides.some((side) => Object.keys(resources?.[side] ?? {}).some(isResizable));

function* alignmentErrors(
  now: readonly Container[],
  before: readonly Container[],
  list: (typeof lists)[number],
): Findings {
  const path = `spec.${list}`;
  if (now.length !== before.length)
    return yield forbidden(path, `${list} may not be added or removed on resize`);
  for (const [i, { name }] of before.entries())
    if (now[i]!.name !== name)
      yield forbidden(child(index(path, i), 'name'), `${list} may not be renamed or reordered on resize`);
}

function* changeErrors(pod: Pod, old: Pod, list: (typeof lists)[number]): Findings {
  const model = modelOf('Container');
  for (const [i, container] of (pod.spec?.[list] ?? []).entries()) {
    const before = old.spec![list]![i]!;
    if (list === 'initContainers' && !isSidecar(before)) {
      if (changedFields(model, container, before).length)
        yield forbidden('spec', 'resources for non-sidecar init containers are immutable');
      continue;
    }
    yield* removalErrors(container, before, child(index(`spec.${list}`, i), 'resources'));
    if (changesMore(model, container, before))
      yield forbidden(
        'spec',
        list === 'containers'
          ? onlyResources
          : 'only cpu and memory resources for sidecar containers are mutable',
      );
  }
}

/** An amount can be changed, but not removed. */
function* removalErrors(now: Container, before: Container, path: string): Findings {
  for (const side of sides) {
    const amounts = now.resources?.[side] ?? {};
    if (Object.keys(before.resources?.[side] ?? {}).some((name) => !Object.hasOwn(amounts, name)))
      yield forbidden(child(path, side), `resource ${side} cannot be removed`);
  }
}

/** Whether anything but cpu and memory differs. */
function changesMore(model: Model, now: Container, before: Container): boolean {
  const fixed = ({ resources, ...rest }: Container): Container => ({
    ...rest,
    resources: {
      ...resources,
      ...Object.fromEntries(sides.map((side) => [side, otherAmounts(resources?.[side])])),
    },
  });
  return changedFields(model, fixed(now), fixed(before)).length > 0;
}

const otherAmounts = (amounts: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(amounts).filter(([name]) => !isResizable(name)));
