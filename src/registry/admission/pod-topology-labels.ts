/** PodTopologyLabels: a pod gets the zone and region of its node as labels, so that its containers can read them. */
import type { Binding, Pod } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { AdmissionPlugin } from '../admission-chain.ts';
import type { Registry } from '../registry.ts';
import { subresourceOf } from '../target.ts';

const topologyLabels = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'] as const;

export const podTopologyLabels: AdmissionPlugin = {
  name: 'PodTopologyLabels',
  kinds: ['core/pods'],

  mutate(registry, { operation, target: { part }, object }) {
    if (operation !== 'create' || subresourceOf(part)) return;
    const nodeName = (object as Pod).spec?.nodeName;
    if (nodeName) copyLabels(registry, nodeName, object!);
  },

  /** The labels of a binding become those of its pod. */
  connect(registry, { target: { part }, object }) {
    if (part !== 'binding') return;
    const { target } = object as Binding;
    if (target?.name) copyLabels(registry, target.name, object!);
  },
};

function copyLabels({ view }: Registry, nodeName: string, to: ApiObject): void {
  // Labels stay with an entry when its parsed object does not: every binding asks for those of a node.
  const labels = view.collection('core/nodes').get('', nodeName)?.labels;
  for (const label of topologyLabels) {
    const value = labels?.[label];
    if (value !== undefined) to.metadata.labels = { ...to.metadata.labels, [label]: value };
  }
}
