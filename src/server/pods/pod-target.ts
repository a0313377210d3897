/** The target of a pod connection: the pod, one of its containers, and their node. */
import { badRequest, notFound } from '../../api/errors/errors.ts';
import type { Node, Pod, PodSpec } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { read } from '../../registry/verbs/list.ts';
import type { NodeLocation } from '../../streams/dial/node-connector.ts';
import type { ResourceInfo } from '../http/request-info.ts';
import type { Connecting } from './connecting.ts';
import { locateNode } from './node-location.ts';

export async function findPod({ registry }: Connecting, pods: Kind, info: ResourceInfo): Promise<Pod> {
  return (
    await read(registry, { kind: pods, namespace: info.namespace!, name: info.name! }, undefined)
  ).object() as Pod;
}

/** Without a name the only container is used; init and ephemeral containers must be named. */
export function chooseContainer({ metadata, spec = {} }: Pod, asked: string | undefined): string {
  const names = containerNames(spec);
  if (asked) {
    if (!names.includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${metadata.name}`);
    return asked;
  }
  const [only, ...others] = spec.containers ?? [];
  if (!only?.name || others.length)
    throw badRequest(
      `a container name must be specified for pod ${metadata.name}, choose one of: [${names.join(' ')}]`,
    );
  return only.name;
}

const containerNames = (spec: PodSpec): (string | undefined)[] =>
  [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])].map(
    (container) => container.name,
  );

/** Undefined when the pod is not scheduled yet. */
export function locatePod(connecting: Connecting, { spec }: Pod): NodeLocation | undefined {
  const { registry, nodes, addressTypes } = connecting;
  const name = spec?.nodeName;
  if (!name) return undefined;
  const node = registry.view.collection('core/nodes').get('', name)?.object() as Node | undefined;
  if (!node) throw notFound(registry.kinds.resource('v1', 'nodes')!, name);
  const location = locateNode(node, addressTypes);
  // Wherry's own agent serves all protocols, whatever its Node object declares.
  return nodes.isLocal(name) ? { ...location, servesWebSockets: true } : location;
}

/** A path of the kubelet API. */
export const kubeletPath = (...segments: (string | undefined)[]): string =>
  segments.map((segment) => `/${encodeURIComponent(segment!)}`).join('');
