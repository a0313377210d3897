/** EndpointSlice: some of the endpoints behind a service. */

import { child, index, invalid } from '../../errors/field-error.ts';
import type { EndpointSlice } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { modelOf } from '../../model/model.ts';
import { addressTypeErrors, endpointsErrors, slicePortErrors } from '../../rules/service/endpoint-slices.ts';
import { changedFields } from '../../rules/shared/change.ts';
import { ageCell, ageColumn, firstFew, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';
import { addressWarning } from '../../values/addresses.ts';

/** The controllers whose slices are not warned about. */
const managers = ['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io'];
const managerLabel = 'endpointslice.kubernetes.io/managed-by';

function* sliceErrors(slice: EndpointSlice, old: EndpointSlice | undefined): Findings {
  yield* addressTypeErrors(slice);
  if (!old || endpointsChange(slice, old)) yield* endpointsErrors(slice);
  yield* slicePortErrors(slice.ports);
}

const endpointsChange = (slice: EndpointSlice, old: EndpointSlice): boolean =>
  changedFields(modelOf('EndpointSlice', 'discovery-v1'), slice, old).includes('endpoints');

function dropTopology({ endpoints }: EndpointSlice): void {
  for (const endpoint of endpoints ?? []) delete endpoint.deprecatedTopology;
}

function warnings({ metadata, addressType, endpoints = [] }: EndpointSlice, isNew: boolean): string[] {
  if (addressType === 'FQDN') return isNew ? ['spec.addressType: FQDN endpoints are deprecated'] : [];
  if (managers.includes(metadata.labels?.[managerLabel] ?? '')) return [];
  return endpoints.flatMap(({ addresses = [] }, i) =>
    addresses.flatMap((address, j) => {
      const warning = addressWarning(address);
      return warning ? [`${index(child(index('endpoints', i), 'addresses'), j)}: ${warning}`] : [];
    }),
  );
}

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

  prepareForCreate: dropTopology,
  prepareForUpdate(slice, old) {
    if (endpointsChange(slice, old)) dropTopology(slice);
  },

  validate: (slice, old) => collect(sliceErrors(slice, old)),
  validateUpdate: ({ addressType }, old) =>
    addressType === old.addressType ? [] : [invalid('addressType', addressType ?? '', 'field is immutable')],
  warnings: (slice, old) => warnings(slice, old === undefined),

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
