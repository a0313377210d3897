/** The names by which nodes are known as users. */
import type { User } from './user.ts';

export const nodesGroup = 'system:nodes';
export const nodeUserPrefix = 'system:node:';

/** Signs the certificates that agents of nodes show as servers. */
export const kubeletServingSigner = 'kubernetes.io/kubelet-serving';
/** In the `extra` of a request for such a certificate: the address that the request came from. Written by the server alone. */
export const sourceAddressKey = 'wherry.dev/source-address';
/** An annotation of nodes: further names and addresses that their certificates may have. Nodes cannot write it. */
export const servingAddressesAnnotation = 'wherry.dev/serving-addresses';

/** The node that a user is; undefined for all other users. */
export const nodeOf = ({ name, groups }: User): string | undefined =>
  name.startsWith(nodeUserPrefix) && name.length > nodeUserPrefix.length && groups.includes(nodesGroup)
    ? name.slice(nodeUserPrefix.length)
    : undefined;
