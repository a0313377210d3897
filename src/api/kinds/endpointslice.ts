/** EndpointSlice: some of the endpoints behind a service. */
import type { EndpointSlice } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { ageCell, ageColumn, firstFew, nameColumn } from '../rules/columns.ts';

/** Numbers of ports; a port without one by its name. */
const portTexts = ({ ports }: EndpointSlice): string[] =>
  (ports ?? []).map(({ port, name }) => (port === undefined ? name || '*' : String(port)));

const addressTexts = ({ endpoints }: EndpointSlice): string[] =>
  (endpoints ?? []).flatMap(({ addresses }) => addresses ?? []);

export const endpointSlice = defineKind<EndpointSlice>({
  kind: 'EndpointSlice',
  resource: 'endpointslices',
  singular: 'endpointslice',
  group: 'discovery.k8s.io',
  version: 'v1',
  table: 'discovery-v1',
  namespaced: true,
  generationOf: 'content and labels',

  defaults({ ports }) {
    for (const port of ports ?? []) {
      port.name ??= '';
      port.protocol ??= 'TCP';
    }
  },

  columns: [
    nameColumn,
    { name: 'AddressType', description: 'What the addresses are: IPv4, IPv6 or names.' },
    { name: 'Ports', description: 'The ports of every endpoint.' },
    { name: 'Endpoints', description: 'The addresses of the endpoints.' },
    ageColumn,
  ],
  cells: (slice) => [
    slice.metadata.name,
    slice.addressType ?? '',
    firstFew(portTexts(slice)),
    firstFew(addressTexts(slice)),
    ageCell(slice),
  ],
});
