/** Endpoints: the addresses behind a service. */

import { child, index, notSupported, required } from '../../errors/field-error.ts';
import type { EndpointAddress, EndpointPort, EndpointSubset, Endpoints } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { endpointAddressErrors } from '../../rules/service/endpoint-address.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings, problemsOf } from '../../rules/shared/findings.ts';
import { addressWarning, isIP } from '../../values/addresses.ts';
import { isLabel1123, isPortNumber, isQualifiedName, isSubdomain1123 } from '../../values/names.ts';

const protocols = ['SCTP', 'TCP', 'UDP'];
/** Addresses shown in a table. */
const shownMax = 3;

function* addressErrors({ ip = '', hostname, nodeName }: EndpointAddress, path: string): Findings {
  const ipPath = child(path, 'ip');
  yield* problemsOf(ipPath, ip, isIP(ip));
  if (hostname) yield* problemsOf(child(path, 'hostname'), hostname, isLabel1123(hostname));
  if (nodeName !== undefined) yield* problemsOf(child(path, 'nodeName'), nodeName, isSubdomain1123(nodeName));
  yield* endpointAddressErrors(ip, ipPath);
}

function* portErrors(port: EndpointPort, path: string, nameNeeded: boolean): Findings {
  const { name, port: number = 0, protocol = '', appProtocol } = port;
  if (name) yield* problemsOf(child(path, 'name'), name, isLabel1123(name));
  else if (nameNeeded) yield required(child(path, 'name'));
  yield* problemsOf(child(path, 'port'), number, isPortNumber(number));
  if (!protocols.includes(protocol)) yield notSupported(child(path, 'protocol'), protocol, protocols);
  if (appProtocol !== undefined)
    yield* problemsOf(child(path, 'appProtocol'), appProtocol, isQualifiedName(appProtocol));
}

function* subsetErrors(subset: EndpointSubset, path: string): Findings {
  const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
  if (addresses.length + notReadyAddresses.length === 0)
    yield required(path, 'must specify `addresses` or `notReadyAddresses`');
  for (const [i, address] of addresses.entries())
    yield* addressErrors(address, index(child(path, 'addresses'), i));
  for (const [i, address] of notReadyAddresses.entries())
    yield* addressErrors(address, index(child(path, 'notReadyAddresses'), i));
  for (const [i, port] of ports.entries())
    yield* portErrors(port, index(child(path, 'ports'), i), ports.length > 1);
}

function* subsetsErrors(subsets: readonly EndpointSubset[] = []): Findings {
  for (const [i, subset] of subsets.entries()) yield* subsetErrors(subset, index('subsets', i));
}

function* addressWarnings({ subsets = [] }: Endpoints): Generator<string> {
  for (const [i, subset] of subsets.entries())
    for (const list of ['addresses', 'notReadyAddresses'] as const)
      for (const [j, { ip = '' }] of (subset[list] ?? []).entries()) {
        const warning = addressWarning(ip);
        if (warning) yield `${child(index(child(index('subsets', i), list), j), 'ip')}: ${warning}`;
      }
}

/** Every address with every port: the first few in full, the rest as a number. */
function endpointsText(subsets: readonly EndpointSubset[] | undefined): string {
  if (!subsets?.length) return '<none>';
  const shown: string[] = [];
  let count = 0;
  for (const { addresses = [], ports = [] } of subsets) {
    count += addresses.length * Math.max(ports.length, 1);
    const suffixes = ports.length ? ports.slice(0, shownMax).map(({ port }) => `:${port ?? 0}`) : [''];
    for (const suffix of suffixes)
      for (const { ip = '' } of addresses.slice(0, shownMax))
        if (shown.length < shownMax) shown.push((suffix && ip.includes(':') ? `[${ip}]` : ip) + suffix);
  }
  return shown.join(',') + (count > shownMax ? ` + ${count - shownMax} more...` : '');
}

export const endpoints = defineKind<Endpoints>({
  kind: 'Endpoints',
  resource: 'endpoints',
  singular: 'endpoints',
  shortNames: ['ep'],
  namespaced: true,
  deprecation: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  createOnUpdate: true,

  defaults({ subsets }) {
    for (const subset of subsets ?? []) for (const port of subset.ports ?? []) port.protocol ||= 'TCP';
  },

  // Kubernetes does not check unchanged subsets on update; here they passed the same rules before.
  validate: ({ subsets }) => collect(subsetsErrors(subsets)),
  warnings: (endpoints) => [...addressWarnings(endpoints)],

  columns: [nameColumn, { name: 'Endpoints', description: 'Ready addresses and their ports.' }, ageColumn],
  cells: (endpoints) => [endpoints.metadata.name, endpointsText(endpoints.subsets), ageCell(endpoints)],
});
