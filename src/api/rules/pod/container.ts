/** Containers: the processes of a pod. Init containers run before the others, sidecars beside them. */
import { child, duplicate, index, invalid, notSupported, required } from '../../errors/field-error.ts';
import type {
  Container,
  ContainerPort,
  ContainerResizePolicy,
  PodSpec,
  Volume,
} from '../../generated/types.ts';
import { isLabel1123, isPortName, isPortNumber } from '../../values/names.ts';
import { choice, type Findings, problemsOf } from '../shared/findings.ts';
import { requirementErrors } from '../shared/resources.ts';
import { envErrors } from './env.ts';
import { imageTag } from './image-reference.ts';
import { mountErrors } from './mount.ts';
import { usedClaimErrors } from './pod-claims.ts';
import { noProbeErrors, type ProbeScope, probeErrors } from './probe.ts';
import { securityContextErrors } from './security-context.ts';

const messagePolicies = ['File', 'FallbackToLogsOnError'];
export const pullPolicies: readonly string[] = ['Always', 'IfNotPresent', 'Never'];
const protocols = ['SCTP', 'TCP', 'UDP'];
const restartPolicies = ['Always', 'Never', 'OnFailure'];
const resizeResources = ['cpu', 'memory'];
const resizePolicies = ['NotRequired', 'RestartContainer'];

/** The parts of a pod that the rules of its containers depend on. */
interface Scope extends ProbeScope {
  /** The pod's volumes that passed validation. */
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly hostUsers: boolean;
  readonly claims: PodSpec['resourceClaims'];
}

export const isSidecar = (container: Container): boolean => container.restartPolicy === 'Always';

/**
 * The default pull policy: `Always` for an image without a tag or with `latest`. The tag follows the last colon of
 * the last path segment: in `registry:5000/image` the colon belongs to the port.
 */
export function pullPolicyOf(image: string | undefined): 'Always' | 'IfNotPresent' {
  return imageTag(image ?? '') === 'latest' ? 'Always' : 'IfNotPresent';
}

/** Rules for all containers of a pod. `inPod` is false for a template. */
export function* containersErrors(
  spec: PodSpec,
  volumes: ReadonlyMap<string, Volume>,
  path: string,
  inPod: boolean,
): Findings {
  const scope: Scope = {
    volumes,
    hostUsers: spec.hostUsers !== false,
    claims: spec.resourceClaims,
    gracePeriodSeconds: spec.terminationGracePeriodSeconds ?? 0,
    osName: spec.os?.name ?? '',
  };
  const lists = ['containers', 'initContainers', 'ephemeralContainers'] as const;
  const names = new Set<string>();
  if (!spec.containers?.length) yield required(child(path, 'containers'));
  for (const list of lists)
    for (const [i, container] of (spec[list] ?? []).entries()) {
      const entry = index(child(path, list), i);
      yield* containerErrors(container, entry, scope);
      if (container.restartPolicy !== undefined)
        yield* choice(child(entry, 'restartPolicy'), container.restartPolicy, restartPolicies);
      if (container.name && names.has(container.name)) yield duplicate(child(entry, 'name'), container.name);
      names.add(container.name ?? '');
      if (list === 'initContainers' && !isSidecar(container)) yield* noProbeErrors(container, entry);
      else yield* probeErrors(container, entry, scope);
      // Init containers run one by one, so their host ports cannot conflict with each other.
      if (list === 'initContainers' && usesHostPorts(container))
        yield* hostPortErrors([container], () => entry);
    }
  if (spec.containers?.some(usesHostPorts))
    yield* hostPortErrors(spec.containers, (i) => index(child(path, 'containers'), i));
  if (spec.hostNetwork) yield* hostNetworkErrors(spec.containers ?? [], child(path, 'containers'), inPod);
  // Not checked in templates: stored templates with such images exist from before this rule.
  if (inPod)
    for (const list of lists)
      for (const [i, { image = '' }] of (spec[list] ?? []).entries())
        if (image !== image.trim())
          yield invalid(
            child(index(child(path, list), i), 'image'),
            image,
            'must not have leading or trailing whitespace',
          );
}

/** Rules for every container, in whichever list it is. */
function* containerErrors(container: Container, path: string, scope: Scope): Findings {
  const { name, image } = container;
  if (!name) yield required(child(path, 'name'));
  else yield* problemsOf(child(path, 'name'), name, isLabel1123(name));
  if (!image) yield required(child(path, 'image'));
  yield* choice(child(path, 'terminationMessagePolicy'), container.terminationMessagePolicy, messagePolicies);
  if (container.ports) yield* portsErrors(container.ports, child(path, 'ports'));
  if (container.env || container.envFrom) yield* envErrors(container, path);
  if (container.volumeMounts || container.volumeDevices) yield* mountErrors(container, scope.volumes, path);
  yield* choice(child(path, 'imagePullPolicy'), container.imagePullPolicy, pullPolicies);
  if (container.resources) yield* requirementErrors(container.resources, child(path, 'resources'));
  if (container.resources?.claims)
    yield* usedClaimErrors(container.resources.claims, child(path, 'resources.claims'), scope.claims);
  if (container.resizePolicy) yield* resizeErrors(container.resizePolicy, child(path, 'resizePolicy'));
  if (container.securityContext)
    yield* securityContextErrors(container.securityContext, child(path, 'securityContext'), scope.hostUsers);
}

function* portsErrors(ports: readonly ContainerPort[], path: string): Findings {
  const names = new Set<string>();
  for (const [i, port] of ports.entries()) {
    const entry = index(path, i);
    if (port.name) {
      const problems = isPortName(port.name);
      yield* problemsOf(child(entry, 'name'), port.name, problems);
      if (problems.length === 0 && names.has(port.name)) yield duplicate(child(entry, 'name'), port.name);
      names.add(port.name);
    }
    if (!port.containerPort) yield required(child(entry, 'containerPort'));
    else
      yield* problemsOf(child(entry, 'containerPort'), port.containerPort, isPortNumber(port.containerPort));
    if (port.hostPort)
      yield* problemsOf(child(entry, 'hostPort'), port.hostPort, isPortNumber(port.hostPort));
    yield* choice(child(entry, 'protocol'), port.protocol, protocols);
  }
}

const usesHostPorts = ({ ports }: Container): boolean => ports?.some(({ hostPort }) => hostPort) ?? false;

/** Containers that run together cannot have the same host port. */
function* hostPortErrors(containers: readonly Container[], pathOf: (i: number) => string): Findings {
  const taken = new Set<string>();
  for (const [i, container] of containers.entries())
    for (const [j, { hostPort, protocol = '', hostIP = '' }] of (container.ports ?? []).entries()) {
      if (!hostPort) continue;
      const place = `${protocol}/${hostIP}/${hostPort}`;
      if (taken.has(place)) yield duplicate(child(index(child(pathOf(i), 'ports'), j), 'hostPort'), place);
      taken.add(place);
    }
}

/**
 * With `hostNetwork` the host port equals the container port. In a template it may be missing; it is defaulted in its
 * pods.
 */
function* hostNetworkErrors(containers: readonly Container[], path: string, inPod: boolean): Findings {
  for (const [i, container] of containers.entries())
    for (const [j, { containerPort = 0, hostPort = 0 }] of (container.ports ?? []).entries())
      if ((inPod || hostPort !== 0) && hostPort !== containerPort)
        yield invalid(
          child(index(child(index(path, i), 'ports'), j), 'hostPort'),
          hostPort,
          'must match `containerPort` when `hostNetwork` is true',
        );
}

function* resizeErrors(policies: readonly ContainerResizePolicy[], path: string): Findings {
  const seen = new Set<string>();
  for (const [i, { resourceName = '', restartPolicy = '' }] of policies.entries()) {
    if (seen.has(resourceName)) yield duplicate(index(path, i), resourceName);
    seen.add(resourceName);
    if (!resourceName || !restartPolicy) yield required(path);
    if (resourceName && !resizeResources.includes(resourceName))
      yield notSupported(path, resourceName, resizeResources);
    if (restartPolicy && !resizePolicies.includes(restartPolicy))
      yield notSupported(path, restartPolicy, resizePolicies);
  }
}
