/** Endpoints: the addresses behind a service. */
import { child, type FieldError, index, invalid, notSupported, required } from '../fielderror.ts';
import type { EndpointAddress, EndpointPort, EndpointSubset, Endpoints } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import {
  type Address,
  isIP,
  isLabel1123,
  isPortNumber,
  isQualifiedName,
  isSubdomain1123,
  parseIP,
} from '../names.ts';
import { ageCell, ageColumn, nameColumn } from './columns.ts';

const protocols = ['SCTP', 'TCP', 'UDP'];
/** Addresses shown in a table. */
const shownMax = 3;

const isLoopback = ({ family, value }: Address): boolean =>
  family === 4 ? value >> 24n === 127n : value === 1n;
const isLinkLocal = ({ family, value }: Address): boolean =>
  family === 4 ? value >> 16n === 0xa9fen : value >> 118n === 0b11_1111_1010n;
/** In version 6 any flags may stand before the scope, which is 2. */
const isLinkLocalMulticast = ({ family, value }: Address): boolean =>
  family === 4 ? value >> 8n === 0xe0_0000n : value >> 120n === 0xffn && ((value >> 112n) & 0xfn) === 2n;

/** Addresses that traffic may be sent to: none that mean the sender itself, or only its own network. */
export function endpointAddressErrors(ip: string, path: string): FieldError[] {
  const address = parseIP(ip);
  if (!address) return [invalid(path, ip, 'must be a valid IP address')];
  const problems: string[] = [];
  if (address.value === 0n) problems.push(`may not be unspecified (${ip})`);
  if (isLoopback(address)) problems.push('may not be in the loopback range (127.0.0.0/8, ::1/128)');
  if (isLinkLocal(address)) problems.push('may not be in the link-local range (169.254.0.0/16, fe80::/10)');
  if (isLinkLocalMulticast(address))
    problems.push('may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)');
  return problems.map((problem) => invalid(path, ip, problem));
}

function addressErrors({ ip = '', hostname, nodeName }: EndpointAddress, path: string): FieldError[] {
  const ipPath = child(path, 'ip');
  const errors = isIP(ip).map((problem) => invalid(ipPath, ip, problem));
  if (hostname)
    for (const problem of isLabel1123(hostname))
      errors.push(invalid(child(path, 'hostname'), hostname, problem));
  if (nodeName !== undefined)
    for (const problem of isSubdomain1123(nodeName))
      errors.push(invalid(child(path, 'nodeName'), nodeName, problem));
  errors.push(...endpointAddressErrors(ip, ipPath));
  return errors;
}

function portErrors(port: EndpointPort, path: string, nameNeeded: boolean): FieldError[] {
  const errors: FieldError[] = [];
  const { name, port: number = 0, protocol = '', appProtocol } = port;
  if (name) for (const problem of isLabel1123(name)) errors.push(invalid(child(path, 'name'), name, problem));
  else if (nameNeeded) errors.push(required(child(path, 'name')));
  for (const problem of isPortNumber(number)) errors.push(invalid(child(path, 'port'), number, problem));
  if (!protocols.includes(protocol)) errors.push(notSupported(child(path, 'protocol'), protocol, protocols));
  if (appProtocol !== undefined)
    for (const problem of isQualifiedName(appProtocol))
      errors.push(invalid(child(path, 'appProtocol'), appProtocol, problem));
  return errors;
}

function subsetErrors(subset: EndpointSubset, path: string): FieldError[] {
  const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
  const errors: FieldError[] = [];
  if (addresses.length + notReadyAddresses.length === 0)
    errors.push(required(path, 'must specify `addresses` or `notReadyAddresses`'));
  for (const [i, address] of addresses.entries())
    errors.push(...addressErrors(address, index(child(path, 'addresses'), i)));
  for (const [i, address] of notReadyAddresses.entries())
    errors.push(...addressErrors(address, index(child(path, 'notReadyAddresses'), i)));
  for (const [i, port] of ports.entries())
    errors.push(...portErrors(port, index(child(path, 'ports'), i), ports.length > 1));
  return errors;
}

/** Every address with every port, the first few written out and the rest counted. */
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

  // Kubernetes leaves unchanged subsets alone on update; here they have passed these same rules before.
  validate: ({ subsets = [] }) => subsets.flatMap((subset, i) => subsetErrors(subset, index('subsets', i))),

  columns: [nameColumn, { name: 'Endpoints', description: 'Ready addresses and their ports.' }, ageColumn],
  cells: (endpoints, nowMs) => [
    endpoints.metadata.name,
    endpointsText(endpoints.subsets),
    ageCell(endpoints, nowMs),
  ],
});
