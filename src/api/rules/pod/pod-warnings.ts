/** Warnings about pods: values that are valid, but probably not intended. */
import { child, index, key } from '../../errors/field-error.ts';
import type { ContainerPort, EnvVar, PodSpec, PodTemplateSpec } from '../../generated/types.ts';
import type { ApiObject } from '../../text/object.ts';
import { isLabel1123 } from '../../values/names.ts';
import { nodeLabelDeprecation } from '../shared/node-labels.ts';

/** Warnings of one request; each becomes a header. */
const warningsMax = 50;

/** A pod name becomes a host name, where dots cause trouble. Only checked while the name can be changed. */
export function nameWarnings({ metadata }: ApiObject, old: ApiObject | undefined, usedIn: string): string[] {
  const problems = old ? [] : isLabel1123(metadata.name ?? '');
  if (problems.length === 0) return [];
  return [
    `metadata.name: this is used in ${usedIn}, which can result in surprising behavior; a DNS label is recommended: [${problems.join(' ')}]`,
  ];
}

/** For kinds that create pods: their pods' names begin with the owner's name. `path` is where the template is. */
export function makerWarnings(
  maker: ApiObject,
  old: ApiObject | undefined,
  template: PodTemplateSpec | undefined,
  path: string,
): string[] {
  return [
    ...nameWarnings(maker, old, 'Pod names and hostnames'),
    ...templateWarnings(maker, old, template, path),
  ];
}

/** Only when the template changes, not with every change of the replicas. */
export function templateWarnings(
  maker: ApiObject,
  old: ApiObject | undefined,
  template: PodTemplateSpec | undefined,
  path: string,
): string[] {
  if (old && old.metadata.generation === maker.metadata.generation) return [];
  return specWarnings(template?.spec ?? {}, child(path, 'spec'));
}

export function specWarnings(spec: PodSpec, path: string): string[] {
  const warnings: string[] = [];
  for (const warning of allWarnings(spec, path)) if (warnings.push(warning) === warningsMax) break;
  return warnings;
}

function* allWarnings(spec: PodSpec, path: string): Generator<string> {
  for (const name in spec.nodeSelector) {
    const advice = nodeLabelDeprecation(name);
    if (advice) yield `${key(child(path, 'nodeSelector'), name)}: ${advice}`;
  }
  if (spec.volumes)
    for (const [i, volume] of spec.volumes.entries())
      if (volume.gitRepo)
        yield `${child(index(child(path, 'volumes'), i), 'gitRepo')}: deprecated in v1.11, and disabled by default in v1.33+`;
  for (const list of ['initContainers', 'containers'] as const)
    for (const [i, { env }] of (spec[list] ?? []).entries())
      if (env) yield* envWarnings(env, child(index(child(path, list), i), 'env'));
  if (portCount(spec) > 1) yield* portWarnings(spec, path);
}

function* envWarnings(env: readonly EnvVar[], path: string): Generator<string> {
  const seen = new Set<string>();
  for (const [i, { name = '', value = '', valueFrom }] of env.entries()) {
    // A variable may refer to its earlier value: that is no accidental duplicate.
    const builds = !valueFrom && value !== `$(${name})` && value.includes(`$(${name})`);
    if (seen.has(name) && !builds)
      yield `${index(path, i)}: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`;
    seen.add(name);
  }
}

function portCount({ containers = [], initContainers = [] }: PodSpec): number {
  let count = 0;
  for (const { ports } of containers) count += ports?.length ?? 0;
  for (const { ports } of initContainers) count += ports?.length ?? 0;
  return count;
}

function* portWarnings(spec: PodSpec, path: string): Generator<string> {
  const exact = new Map<string, string>();
  for (const list of ['containers', 'initContainers'] as const)
    for (const [i, container] of (spec[list] ?? []).entries())
      for (const [j, port] of (container.ports ?? []).entries()) {
        const entry = index(child(index(child(path, list), i), 'ports'), j);
        const identity = portIdentity(port);
        const earlier = exact.get(identity);
        if (earlier) yield `${entry}: duplicate port definition with ${earlier}`;
        else exact.set(identity, entry);
      }
}

const portIdentity = ({ containerPort = 0, protocol, hostPort = 0, hostIP = '' }: ContainerPort): string =>
  `${containerPort}/${protocol}/${hostPort}/${hostIP}`;
