/** Ephemeral containers: added to a running pod for debugging, and never changed or removed. */
import { child, forbidden, index, notFound } from '../../errors/field-error.ts';
import type { EphemeralContainer, Pod } from '../../generated/types.ts';
import { modelOf } from '../../model/model.ts';
import { changedFields } from '../shared/change.ts';
import type { Findings } from '../shared/findings.ts';
import { mirrorAnnotation } from './pod-references.ts';

const path = 'spec.ephemeralContainers';

/** Fields they may not have, such as ports, probes and resources. */
const unavailable = [
  'ports',
  'resources',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
] as const;

export function* ephemeralChangeErrors(pod: Pod, old: Pod): Findings {
  if (old.metadata.annotations?.[mirrorAnnotation] !== undefined)
    return yield forbidden('', 'static pods do not support ephemeral containers');
  for (const [i, container] of (pod.spec?.ephemeralContainers ?? []).entries())
    yield* containerErrors(container, index(path, i), pod);
  yield* changeErrors(pod.spec?.ephemeralContainers ?? [], old.spec?.ephemeralContainers ?? []);
}

function* containerErrors(container: EphemeralContainer, entry: string, { spec = {} }: Pod): Findings {
  const target = container.targetContainerName;
  const others = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  if (target && !others.some(({ name }) => name === target))
    yield notFound(child(entry, 'targetContainerName'), target);
  for (const name of unavailable)
    if (isSet(container[name]))
      yield forbidden(child(entry, name), 'cannot be set for an Ephemeral Container');
  if (container.restartPolicy !== undefined)
    yield forbidden(child(entry, 'restartPolicy'), 'may not be set for ephemeral containers');
  for (const [i, mount] of (container.volumeMounts ?? []).entries())
    for (const name of ['subPath', 'subPathExpr'] as const)
      if (mount[name])
        yield forbidden(
          child(index(child(entry, 'volumeMounts'), i), name),
          'cannot be set for an Ephemeral Container',
        );
}

const isSet = (value: object | undefined): boolean => value !== undefined && Object.keys(value).length > 0;

function* changeErrors(now: readonly EphemeralContainer[], before: readonly EphemeralContainer[]): Findings {
  const model = modelOf('EphemeralContainer');
  for (const old of before) {
    const same = now.find(({ name }) => name === old.name);
    const named = `existing ephemeral containers ${JSON.stringify(old.name)}`;
    if (!same) {
      yield forbidden(path, `${named} may not be removed\n`);
      continue;
    }
    const changed = changedFields(model, same, old);
    if (changed.length) yield forbidden(path, `${named} may not be changed\n${changed.join('\n')}`);
  }
}
