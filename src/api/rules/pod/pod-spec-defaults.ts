/** Defaults of pod specs. */
import type { Container, EnvVar, HTTPGetAction, PodSpec, Probe } from '../../generated/types.ts';
import { roundResources } from '../shared/resource-name.ts';
import { requestLimits, requestPodLevel, roundRequirements } from '../shared/resources.ts';
import { pullPolicyOf } from './container.ts';
import { defaultFieldRef } from './env.ts';
import { probeNames } from './probe.ts';
import { defaultVolume } from './volume-defaults.ts';

const gracePeriodSeconds = 30;

/** Sets defaults of pods and templates. */
export function defaultPodSpec(spec: PodSpec): void {
  spec.restartPolicy ||= 'Always';
  spec.dnsPolicy ||= 'ClusterFirst';
  spec.terminationGracePeriodSeconds ??= gracePeriodSeconds;
  spec.securityContext ??= {};
  spec.schedulerName ||= 'default-scheduler';
  nameAccount(spec);
  for (const volume of spec.volumes ?? []) defaultVolume(volume);
  for (const container of allContainers(spec)) defaultContainer(container);
  roundResources(spec.overhead);
  roundRequirements(spec.resources);
}

/** Sets defaults of pods only: a template leaves these fields open. */
export function defaultPodOnly(spec: PodSpec): void {
  spec.enableServiceLinks ??= true;
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    requestLimits(container);
    if (!spec.hostNetwork) continue;
    for (const port of container.ports ?? []) if (port.containerPort) port.hostPort ||= port.containerPort;
  }
  requestPodLevel(spec);
}

/** The service account has two fields, an old and a new one; both are written, and the new one wins. */
export function nameAccount(spec: PodSpec): void {
  const account = spec.serviceAccountName || spec.serviceAccount;
  if (!account) return;
  spec.serviceAccountName = account;
  spec.serviceAccount = account;
}

function* allContainers(spec: PodSpec): Generator<Container> {
  yield* spec.containers ?? [];
  yield* spec.initContainers ?? [];
  yield* spec.ephemeralContainers ?? [];
}

function defaultContainer(container: Container): void {
  container.imagePullPolicy ||= pullPolicyOf(container.image);
  container.terminationMessagePath ||= '/dev/termination-log';
  container.terminationMessagePolicy ||= 'File';
  roundRequirements(container.resources);
  for (const port of container.ports ?? []) port.protocol ||= 'TCP';
  for (const variable of container.env ?? []) defaultVariable(variable);
  for (const name of probeNames) if (container[name]) defaultProbe(container[name]);
  for (const hook of [container.lifecycle?.postStart, container.lifecycle?.preStop])
    defaultHttpGet(hook?.httpGet);
}

function defaultVariable({ valueFrom }: EnvVar): void {
  defaultFieldRef(valueFrom?.fieldRef);
  if (valueFrom?.fileKeyRef) valueFrom.fileKeyRef.optional ??= false;
}

function defaultProbe(probe: Probe): void {
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  defaultHttpGet(probe.httpGet);
  if (probe.grpc) probe.grpc.service ??= '';
}

function defaultHttpGet(action: HTTPGetAction | undefined): void {
  if (!action) return;
  action.path ||= '/';
  action.scheme ||= 'HTTP';
}
