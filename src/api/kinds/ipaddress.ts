/** IPAddress: an address of a service, and what it belongs to. The name is the address. */
import { isCanonicalIP } from '../addresses.ts';
import type { IPAddress } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { ageCell, nameColumn } from '../rules/columns.ts';

/** `services/default/web`, `gateways.example.com/front`. */
function parentCell({ spec }: IPAddress): string {
  const { group, resource, namespace, name } = spec?.parentRef ?? {};
  const kind = (group ? `${resource}.${group}` : (resource ?? '')).toLowerCase();
  return [kind, ...(namespace ? [namespace] : []), name ?? ''].join('/');
}

export const ipAddress = defineKind<IPAddress>({
  kind: 'IPAddress',
  resource: 'ipaddresses',
  singular: 'ipaddress',
  shortNames: ['ip'],
  group: 'networking.k8s.io',
  version: 'v1',
  table: 'networking-v1',
  namespaced: false,
  nameRule: (name) => isCanonicalIP(name),

  columns: [nameColumn, { name: 'ParentRef', description: 'The object that has the address.' }],
  // As in Kubernetes, there is one cell more than columns.
  cells: (address) => [address.metadata.name, parentCell(address), ageCell(address)],
});
