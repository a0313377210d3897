/** Pod specs: rules for a pod as a whole, in pods and in templates. */

import {
  child,
  duplicate,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '../../errors/field-error.ts';
import type {
  HostAlias,
  LocalObjectReference,
  PodDNSConfig,
  PodOS,
  PodReadinessGate,
  PodSchedulingGate,
  PodSpec,
} from '../../generated/types.ts';
import { isIP } from '../../values/addresses.ts';
import { isLabel1123, isQualifiedName, isSubdomain1123, validateLabels } from '../../values/names.ts';
import { choice, type Findings, outside, problemsOf } from '../shared/findings.ts';
import { podLevelErrors, requirementErrors } from '../shared/resources.ts';
import { affinityErrors, spreadErrors } from './affinity.ts';
import { containersErrors } from './container.ts';
import { hostProcessErrors } from './host-process.ts';
import { podClaimErrors } from './pod-claims.ts';
import { podSecurityErrors } from './security-context.ts';
import { tolerationErrors } from './toleration.ts';
import { tokenAccountErrors, volumesErrors } from './volume.ts';

const deadlineSecondsMax = 2 ** 31 - 1;
const nameserversMax = 3;
const searchesMax = 32;
const searchCharsMax = 2048;

const restartPolicies = ['Always', 'OnFailure', 'Never'];
const dnsPolicies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
const preemptionPolicies = ['PreemptLowerPriority', 'Never'];
const systems = ['linux', 'windows'];

/** `inPod` is false for a template, some fields of which are completed only in its pods. */
export function* podSpecErrors(spec: PodSpec, path: string, inPod: boolean): Findings {
  const volumes = yield* volumesErrors(spec.volumes, child(path, 'volumes'));
  if (spec.resourceClaims) yield* podClaimErrors(spec.resourceClaims, child(path, 'resourceClaims'));
  yield* containersErrors(spec, volumes, path, inPod);
  yield* podLevelErrors(spec, child(path, 'resources'));
  yield* choice(child(path, 'restartPolicy'), spec.restartPolicy, restartPolicies);
  yield* choice(child(path, 'dnsPolicy'), spec.dnsPolicy, dnsPolicies);
  if (spec.nodeSelector) yield* validateLabels(spec.nodeSelector, child(path, 'nodeSelector'));
  yield* podSecurityErrors(spec, child(path, 'securityContext'));
  yield* hostProcessErrors(spec, path);
  if (spec.imagePullSecrets) yield* pullSecretErrors(spec.imagePullSecrets, child(path, 'imagePullSecrets'));
  if (spec.affinity) yield* affinityErrors(spec.affinity, child(path, 'affinity'));
  if (spec.dnsConfig || spec.dnsPolicy === 'None')
    yield* dnsErrors(spec.dnsConfig, spec.dnsPolicy === 'None', child(path, 'dnsConfig'));
  if (spec.readinessGates) yield* readinessGateErrors(spec.readinessGates, child(path, 'readinessGates'));
  if (spec.schedulingGates) yield* schedulingGateErrors(spec.schedulingGates, child(path, 'schedulingGates'));
  if (spec.topologySpreadConstraints)
    yield* spreadErrors(spec.topologySpreadConstraints, child(path, 'topologySpreadConstraints'));
  yield* nameErrors(spec, path);
  if (spec.activeDeadlineSeconds !== undefined)
    yield* outside(child(path, 'activeDeadlineSeconds'), spec.activeDeadlineSeconds, 1, deadlineSecondsMax);
  if (spec.tolerations) yield* tolerationErrors(spec.tolerations, child(path, 'tolerations'));
  if (spec.hostAliases) yield* hostAliasErrors(spec.hostAliases, child(path, 'hostAliases'));
  if (spec.preemptionPolicy !== undefined)
    yield* choice(child(path, 'preemptionPolicy'), spec.preemptionPolicy, preemptionPolicies);
  if (spec.overhead) yield* requirementErrors({ limits: spec.overhead }, child(path, 'overhead'));
  if (spec.os) yield* systemErrors(spec.os, child(path, 'os'));
  if (inPod && !spec.serviceAccountName) yield* tokenAccountErrors(spec.volumes, child(path, 'volumes'));
}

/** Fields that a new pod may not have. */
export function* newPodErrors(spec: PodSpec, path: string): Findings {
  if (spec.ephemeralContainers?.length)
    yield forbidden(child(path, 'ephemeralContainers'), 'cannot be set on create');
  if (spec.schedulingGates?.length && spec.nodeName)
    yield forbidden(child(path, 'nodeName'), 'cannot be set until all schedulingGates have been cleared');
}

function* nameErrors(spec: PodSpec, path: string): Findings {
  for (const name of ['serviceAccountName', 'nodeName', 'priorityClassName', 'runtimeClassName'] as const)
    if (spec[name]) yield* problemsOf(child(path, name), spec[name], isSubdomain1123(spec[name]));
  for (const name of ['hostname', 'subdomain'] as const)
    if (spec[name]) yield* problemsOf(child(path, name), spec[name], isLabel1123(spec[name]));
}

function* pullSecretErrors(secrets: readonly LocalObjectReference[], path: string): Findings {
  for (const [i, secret] of secrets.entries())
    if (Object.keys(secret).some((name) => name !== 'name'))
      yield invalid(index(path, i), secret, 'only name may be set');
}

function* dnsErrors(config: PodDNSConfig | undefined, needed: boolean, path: string): Findings {
  const { nameservers = [], searches = [], options = [] } = config ?? {};
  const serversPath = child(path, 'nameservers');
  const searchesPath = child(path, 'searches');
  if (needed && !config) yield required(path, 'must provide `dnsConfig` when `dnsPolicy` is None');
  else if (needed && !nameservers.length)
    yield required(serversPath, 'must provide at least one DNS nameserver when `dnsPolicy` is None');
  if (nameservers.length > nameserversMax)
    yield invalid(serversPath, nameservers, `must not have more than ${nameserversMax} nameservers`);
  for (const [i, server] of nameservers.entries())
    yield* problemsOf(index(serversPath, i), server, isIP(server));
  if (searches.length > searchesMax)
    yield invalid(searchesPath, searches, `must not have more than ${searchesMax} search paths`);
  if (Buffer.byteLength(searches.join(' ')) > searchCharsMax)
    yield invalid(
      searchesPath,
      searches,
      `must not have more than ${searchCharsMax} characters (including spaces) in the search list`,
    );
  for (const [i, search] of searches.entries())
    yield* problemsOf(index(searchesPath, i), search, isSearch(search));
  for (const [i, { name }] of options.entries())
    if (!name) yield required(index(child(path, 'options'), i), 'must not be empty');
}

/** A DNS search domain. It may end in a dot or be just a dot, and have underscores, as names of SRV records do. */
const isSearch = (search: string): string[] =>
  search === '.' ? [] : isSubdomain1123(search.replace(/\.$/, '').replaceAll('_', 'a'));

function* readinessGateErrors(gates: readonly PodReadinessGate[], path: string): Findings {
  for (const [i, { conditionType = '' }] of gates.entries())
    yield* problemsOf(child(index(path, i), 'conditionType'), conditionType, isQualifiedName(conditionType));
}

function* schedulingGateErrors(gates: readonly PodSchedulingGate[], path: string): Findings {
  const seen = new Set<string>();
  for (const [i, { name = '' }] of gates.entries()) {
    const entry = index(path, i);
    yield* problemsOf(entry, name, isQualifiedName(name));
    if (seen.has(name)) yield duplicate(entry, name);
    seen.add(name);
  }
}

function* hostAliasErrors(aliases: readonly HostAlias[], path: string): Findings {
  for (const [i, { ip = '', hostnames }] of aliases.entries()) {
    const entry = index(path, i);
    yield* problemsOf(child(entry, 'ip'), ip, isIP(ip));
    for (const [j, name] of (hostnames ?? []).entries())
      yield* problemsOf(index(child(entry, 'hostnames'), j), name, isSubdomain1123(name));
  }
}

function* systemErrors({ name }: PodOS, path: string): Findings {
  if (!name) yield required(child(path, 'name'));
  else if (!systems.includes(name)) yield notSupported(path, name, systems);
}
