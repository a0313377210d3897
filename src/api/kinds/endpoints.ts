/** Endpoints: the addresses behind a service. */
import { type Address, isIP, parseIP } from '../addresses.ts';
import { child, type FieldError, index, invalid, notSupported, required } from '../fielderror.ts';
import type { EndpointAddress, EndpointPort, EndpointSubset, Endpoints } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { isLabel1123, isPortNumber, isQualifiedName, isSubdomain1123 } from '../names.ts';
import { ageCell, ageColumn, nameColumn } from '../rules/columns.ts';
import { collect, type Findings, problemsOf } from '../rules/findings.ts';

const protocols = ['SCTP', 'TCP', 'UDP'];
/** Addresses shown in a table. */
const shownMax = 3;

const isLoopback = ({ family, value }: Address): boolean =>
  family === 4 ? value >> 24n === 127n : value === 1n;
const isLinkLocal = ({ family, value }: Address): boolean =>
  family === 4 ? value >> 16n === 0xa9fen : value >> 118n === 0b11_1111_1010n;
/** In IPv6 multicast any flags may precede the scope, which is 2 for link-local. */
const isLinkLocalMulticast = ({ family, value }: Address): boolean =>
  family === 4 ? value >> 8n === 0xe0_0000n : value >> 120n === 0xffn && ((value >> 112n) & 0xfn) === 2n;

/** Errors of addresses that cannot be endpoints: unspecified, loopback, link-local. */
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

  columns: [nameColumn, { name: 'Endpoints', description: 'Ready addresses and their ports.' }, ageColumn],
  cells: (endpoints) => [endpoints.metadata.name, endpointsText(endpoints.subsets), ageCell(endpoints)],
});
