/** The networking group: ways into the cluster and inside it. */
import type { Group } from '../../kind/group.ts';
import { ingressClass } from './ingress-class.ts';
import { ipAddress } from './ip-address.ts';
import { networkPolicy } from './network-policy.ts';
import { networkingIngress } from './networking-ingress.ts';
import { serviceCidr } from './service-cidr.ts';

export const group: Group = {
  name: 'networking.k8s.io',
  priority: 17_200,
  versions: { v1: {} },
  kinds: [ingressClass, networkingIngress, ipAddress, networkPolicy, serviceCidr],
};
