/** Warnings about single containers: amounts in fractions of a byte, variables that are set twice. */
import { child, index } from '../../errors/field-error.ts';
import type { Container, EnvVar, EphemeralContainer, PodSpec } from '../../generated/types.ts';
import { goQuoted } from '../../model/go-format.ts';
import { fractionWarning } from '../shared/fraction-warning.ts';

/** All containers with their paths, in the order in which Kubernetes visits them. */
export function* withContainers(
  spec: PodSpec,
  path: string,
): Generator<[container: Container | EphemeralContainer, path: string], void, undefined> {
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const)
    for (const [i, container] of (spec[list] ?? []).entries()) yield [container, index(child(path, list), i)];
}

export function* containerWarnings(
  { resources, env }: Container | EphemeralContainer,
  path: string,
): Generator<string, void, undefined> {
  if (resources?.limits || resources?.requests)
    for (const name of ['memory', 'ephemeral-storage'])
      for (const list of ['limits', 'requests'] as const)
        yield* fractionWarning(resources[list], name, child(path, `resources.${list}`));
  if (env && env.length > 1) yield* envWarnings(env, child(path, 'env'));
}

function* envWarnings(env: readonly EnvVar[], path: string): Generator<string, void, undefined> {
  const seen = new Set<string>();
  for (const [i, { name = '', value = '', valueFrom }] of env.entries()) {
    // A variable may refer to its earlier value: that is no accidental duplicate.
    const builds = !valueFrom && value !== `$(${name})` && value.includes(`$(${name})`);
    if (seen.has(name) && !builds)
      yield `${index(path, i)}: hides previous definition of ${goQuoted(name)}, which may be dropped when using apply`;
    seen.add(name);
  }
}
