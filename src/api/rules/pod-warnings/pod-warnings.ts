/** Warnings about pods and templates of pods: values that are valid, but probably not intended. */
import { child, index, key } from '../../errors/field-error.ts';
import type {
  Affinity,
  Container,
  EphemeralContainer,
  ObjectMeta,
  Pod,
  PodSpec,
  PodTemplateSpec,
} from '../../generated/types.ts';
import { goQuoted } from '../../model/go-format.ts';
import type { ApiObject } from '../../text/object.ts';
import { addressWarning } from '../../values/addresses.ts';
import { isLabel1123 } from '../../values/names.ts';
import {
  appArmorFromAnnotation,
  appArmorPrefix,
  isFromAnnotation,
  isSameAppArmor,
} from '../pod/app-armor.ts';
import { fractionWarning } from '../shared/fraction-warning.ts';
import { nodeLabelDeprecation, nodeTermWarnings } from '../shared/node-labels.ts';
import { containerWarnings, withContainers } from './container-warnings.ts';
import { portWarnings } from './port-warnings.ts';
import { volumeWarnings } from './volume-warnings.ts';

/** Warnings of one request. Each becomes a header; with more, their texts are longer than an answer may have. */
const warningsMax = 110;

const seccompPod = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompContainer = 'container.seccomp.security.alpha.kubernetes.io/';

const deprecatedAnnotations: readonly (readonly [name: string, advice: string])[] = [
  [
    'scheduler.alpha.kubernetes.io/critical-pod',
    'non-functional in v1.16+; use the "priorityClassName" field instead',
  ],
  ['security.alpha.kubernetes.io/sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
  [
    'security.alpha.kubernetes.io/unsafe-sysctls',
    'non-functional in v1.11+; use the "sysctls" field instead',
  ],
];

type Warnings = Generator<string, void, undefined>;

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
    ...changedTemplateWarnings(maker, old, template, path),
  ];
}

/** Whether the object is new or asks for something else than before. */
export const isChanged = ({ metadata }: ApiObject, old: ApiObject | undefined): boolean =>
  old?.metadata.generation !== metadata.generation || !old;

export const changedTemplateWarnings = (
  maker: ApiObject,
  old: ApiObject | undefined,
  template: PodTemplateSpec | undefined,
  path: string,
): string[] => (isChanged(maker, old) ? templateWarnings(template, path) : []);

export const templateWarnings = (template: PodTemplateSpec | undefined, path: string): string[] =>
  bounded(allWarnings(template?.spec ?? {}, template?.metadata, path));

/** Pods are warned of when they are made, not with the many changes that programs make to them. */
export const podWarnings = (pod: Pod, old: Pod | undefined): string[] =>
  old
    ? []
    : [
        ...nameWarnings(pod, old, "the Pod's hostname"),
        ...bounded(allWarnings(pod.spec ?? {}, pod.metadata, '')),
      ];

function bounded(found: Warnings): string[] {
  const warnings: string[] = [];
  for (const warning of found) if (warnings.push(warning) === warningsMax) break;
  return warnings;
}

/** `path` is where the template is, empty for a pod. The order is Kubernetes'. */
function* allWarnings(spec: PodSpec, metadata: ObjectMeta | undefined, path: string): Warnings {
  const specPath = child(path, 'spec');
  const annotations = metadata?.annotations;
  if (spec.nodeSelector || spec.affinity || spec.topologySpreadConstraints)
    yield* nodeWarnings(spec, specPath);
  if (annotations) yield* annotationWarnings(annotations, child(path, 'metadata.annotations'));
  if (spec.volumes) yield* volumeWarnings(spec.volumes, child(specPath, 'volumes'));
  if (spec.hostAliases) yield* aliasWarnings(spec.hostAliases, child(specPath, 'hostAliases'));
  if (spec.imagePullSecrets)
    yield* pullSecretWarnings(spec.imagePullSecrets, child(specPath, 'imagePullSecrets'));
  if (spec.overhead)
    for (const name of ['memory', 'ephemeral-storage'])
      yield* fractionWarning(spec.overhead, name, child(specPath, 'overhead'));
  if (annotations && Object.hasOwn(annotations, seccompPod) && !spec.securityContext?.seccompProfile)
    yield `${key(child(path, 'metadata.annotations'), seccompPod)}: ${unread}`;
  for (const [container, containerPath] of withContainers(spec, specPath)) {
    if (annotations) yield* profileWarnings(container, spec, annotations, path);
    yield* containerWarnings(container, containerPath);
  }
  yield* portWarnings(spec, specPath);
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0)
    yield `${child(specPath, 'terminationGracePeriodSeconds')}: must be >= 0; negative values are invalid and will be treated as 1`;
  if (spec.affinity) yield* affinityWarnings(spec.affinity, child(specPath, 'affinity'));
  if (spec.dnsConfig || spec.hostAliases) yield* addressWarnings(spec, specPath);
}

/** Labels of nodes that have other names today, and selectors that match nothing. */
function* nodeWarnings(
  { nodeSelector, affinity, topologySpreadConstraints = [] }: PodSpec,
  path: string,
): Warnings {
  for (const name in nodeSelector) {
    const advice = nodeLabelDeprecation(name);
    if (advice) yield `${key(child(path, 'nodeSelector'), name)}: ${advice}`;
  }
  const node = affinity?.nodeAffinity;
  const nodePath = child(path, 'affinity.nodeAffinity');
  const terms = node?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const termsPath = child(nodePath, 'requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms');
  for (const [i, term] of terms.entries()) yield* nodeTermWarnings(term, index(termsPath, i), false);
  const preferred = node?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const preferredPath = child(nodePath, 'preferredDuringSchedulingIgnoredDuringExecution');
  for (const [i, { preference = {} }] of preferred.entries())
    yield* nodeTermWarnings(preference, child(index(preferredPath, i), 'preference'), true);
  for (const [i, { topologyKey = '', labelSelector }] of topologySpreadConstraints.entries()) {
    const entry = index(child(path, 'topologySpreadConstraints'), i);
    const advice = nodeLabelDeprecation(topologyKey);
    if (advice) yield `${child(entry, 'topologyKey')}: ${topologyKey} is ${advice}`;
    if (!labelSelector) yield matchesNothing(entry);
  }
}

const matchesNothing = (path: string): string =>
  `${child(path, 'labelSelector')}: a null labelSelector results in matching no pod`;

function* affinityWarnings(affinity: Affinity, path: string): Warnings {
  for (const name of ['podAffinity', 'podAntiAffinity'] as const) {
    const { requiredDuringSchedulingIgnoredDuringExecution: required = [] } = affinity[name] ?? {};
    const { preferredDuringSchedulingIgnoredDuringExecution: preferred = [] } = affinity[name] ?? {};
    const requiredPath = child(child(path, name), 'requiredDuringSchedulingIgnoredDuringExecution');
    const preferredPath = child(child(path, name), 'preferredDuringSchedulingIgnoredDuringExecution');
    for (const [i, { labelSelector }] of required.entries())
      if (!labelSelector) yield matchesNothing(index(requiredPath, i));
    for (const [i, { podAffinityTerm }] of preferred.entries())
      if (!podAffinityTerm?.labelSelector)
        yield matchesNothing(child(index(preferredPath, i), 'podAffinityTerm'));
  }
}

function* annotationWarnings(annotations: Record<string, string>, path: string): Warnings {
  for (const [name, advice] of deprecatedAnnotations)
    if (Object.hasOwn(annotations, name)) yield `${key(path, name)}: ${advice}`;
}

const unread = 'non-functional in v1.27+; use the "seccompProfile" field instead';

/** Profiles of seccomp and AppArmor in annotations, where the fields that replaced them are not set. */
function* profileWarnings(
  { name = '', securityContext }: Container | EphemeralContainer,
  { securityContext: podContext, os }: PodSpec,
  annotations: Record<string, string>,
  path: string,
): Warnings {
  const annotationsPath = child(path, 'metadata.annotations');
  const seccomp = seccompContainer + name;
  if (!securityContext?.seccompProfile && Object.hasOwn(annotations, seccomp))
    yield `${key(annotationsPath, seccomp)}: ${unread}`;
  const appArmor = appArmorPrefix + name;
  const isSet = securityContext?.appArmorProfile && !isFromAnnotation(securityContext);
  if (isSet || !Object.hasOwn(annotations, appArmor)) return;
  if (path === '' && os?.name === 'windows') return;
  const podProfile = podContext?.appArmorProfile;
  if (!podProfile || !isSameAppArmor(podProfile, appArmorFromAnnotation(annotations[appArmor]!)))
    yield `${key(annotationsPath, appArmor)}: deprecated since v1.30; use the "appArmorProfile" field instead`;
}

function* aliasWarnings(aliases: NonNullable<PodSpec['hostAliases']>, path: string): Warnings {
  const seen = new Set<string>();
  for (const [i, { ip = '' }] of aliases.entries()) {
    if (seen.has(ip)) yield `${child(index(path, i), 'ip')}: duplicate ip ${goQuoted(ip)}`;
    seen.add(ip);
  }
}

function* pullSecretWarnings(secrets: NonNullable<PodSpec['imagePullSecrets']>, path: string): Warnings {
  const seen = new Set<string>();
  for (const [i, { name = '' }] of secrets.entries()) {
    if (seen.has(name)) yield `${child(index(path, i), 'name')}: duplicate name ${goQuoted(name)}`;
    seen.add(name);
  }
  for (const [i, { name }] of secrets.entries())
    if (!name) yield `${child(index(path, i), 'name')}: invalid empty name ""`;
}

function* addressWarnings({ dnsConfig, hostAliases }: PodSpec, path: string): Warnings {
  for (const [i, server] of (dnsConfig?.nameservers ?? []).entries()) {
    const warning = addressWarning(server);
    if (warning) yield `${index(child(path, 'dnsConfig.nameservers'), i)}: ${warning}`;
  }
  for (const [i, { ip = '' }] of (hostAliases ?? []).entries()) {
    const warning = addressWarning(ip);
    if (warning) yield `${child(index(child(path, 'hostAliases'), i), 'ip')}: ${warning}`;
  }
}
