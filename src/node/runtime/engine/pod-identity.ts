/**
 * How pods and containers are recognised in a container engine, also by an agent that did not make them: by Kubernetes'
 * labels, and a label that names their agent. Others may use the same engine, so the agent's label is part of every
 * search.
 */
import type { Container, Pod } from '../../../api/generated/types.ts';

export const labels = {
  node: 'io.wherry.node',
  /**
   * Identifies the agent process, if containers must not outlive it; otherwise empty, so that no label of a pod is
   * taken for it.
   */
  agent: 'io.wherry.agent',
  /** The folder of the agent's runtime, from which others find out whether the agent is alive. */
  folder: 'io.wherry.folder',
  podName: 'io.kubernetes.pod.name',
  podNamespace: 'io.kubernetes.pod.namespace',
  podUid: 'io.kubernetes.pod.uid',
  container: 'io.kubernetes.container.name',
  type: 'io.kubernetes.docker.type',
  attempt: 'io.kubernetes.container.restartCount',
  sandbox: 'io.kubernetes.sandbox.id',
  image: 'io.wherry.image',
  imageId: 'io.wherry.image-id',
  messagePolicy: 'io.kubernetes.container.terminationMessagePolicy',
  grace: 'io.kubernetes.pod.terminationGracePeriod',
} as const;

export const sandboxName = 'POD';

/** The owner of containers. */
export interface Owner {
  readonly node: string;
  /** Set when containers must not outlive the agent. */
  readonly agent: string | undefined;
  readonly folder: string;
}

const podLabels = ({ node, agent, folder }: Owner, { metadata, spec }: Pod): Record<string, string> => ({
  [labels.node]: node,
  [labels.agent]: agent ?? '',
  [labels.folder]: folder,
  [labels.podName]: metadata.name ?? '',
  [labels.podNamespace]: metadata.namespace ?? '',
  [labels.podUid]: metadata.uid ?? '',
  [labels.grace]: String(spec?.terminationGracePeriodSeconds ?? 30),
});

/** The labels of a sandbox. The pod's own labels come first, so that they cannot replace the identifying ones. */
export const sandboxLabels = (owner: Owner, pod: Pod, attempt: number): Record<string, string> => ({
  ...pod.metadata.labels,
  ...podLabels(owner, pod),
  [labels.type]: 'podsandbox',
  [labels.container]: sandboxName,
  [labels.attempt]: String(attempt),
});

export const containerLabels = (
  owner: Owner,
  pod: Pod,
  container: Container,
  attempt: number,
  shownImageId: string,
): Record<string, string> => ({
  ...podLabels(owner, pod),
  [labels.type]: 'container',
  [labels.container]: container.name ?? '',
  [labels.attempt]: String(attempt),
  [labels.image]: container.image ?? '',
  [labels.imageId]: shownImageId,
  [labels.messagePolicy]: container.terminationMessagePolicy ?? '',
});

/** A name that only one container of an engine can have, so it works as a lock. */
export const containerName = ({ metadata }: Pod, container: string, attempt: number): string =>
  ['k8s', container, metadata.name, metadata.namespace, metadata.uid, attempt].join('_');

/** The identity in the labels of a container; undefined when they are not complete. */
export interface Identity {
  readonly uid: string;
  readonly container: string;
  readonly attempt: number;
  readonly isSandbox: boolean;
}

export function identityOf(found: Readonly<Record<string, string>>): Identity | undefined {
  const { [labels.podUid]: uid, [labels.container]: container, [labels.attempt]: attempt } = found;
  if (!uid || !container || !/^\d{1,9}$/.test(attempt ?? '')) return undefined;
  return { uid, container, attempt: Number(attempt), isSandbox: container === sandboxName };
}
