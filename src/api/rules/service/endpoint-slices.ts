/** Rules of endpoint slices: addresses by the type of the slice, hints and ports. */

import {
  child,
  duplicate,
  index,
  invalid,
  notSupported,
  required,
  tooMany,
} from '../../errors/field-error.ts';
import type { Endpoint, EndpointHints, EndpointPortV1, EndpointSlice } from '../../generated/types.ts';
import { isCanonicalIP, isIP, parseIP } from '../../values/addresses.ts';
import { isLabel1123, isLabelValue, isQualifiedName, isSubdomain1123 } from '../../values/names.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';
import { endpointAddressErrors } from './endpoint-address.ts';

const endpointsMax = 1000;
const addressesMax = 100;
const portsMax = 20_000;
const hintsMax = 8;
const types = ['FQDN', 'IPv4', 'IPv6'];
const protocols = ['SCTP', 'TCP', 'UDP'];

export function* addressTypeErrors({ addressType }: EndpointSlice): Findings {
  if (!addressType) yield required('addressType');
  else if (!types.includes(addressType)) yield notSupported('addressType', addressType, types);
}

export function* endpointsErrors({ addressType = '', endpoints = [] }: EndpointSlice): Findings {
  if (endpoints.length > endpointsMax) return yield tooMany('endpoints', endpoints.length, endpointsMax);
  for (const [i, endpoint] of endpoints.entries())
    yield* endpointErrors(endpoint, addressType, index('endpoints', i));
}

function* endpointErrors(endpoint: Endpoint, type: string, path: string): Findings {
  const { addresses = [], nodeName, hostname, hints } = endpoint;
  const list = child(path, 'addresses');
  if (addresses.length === 0) yield required(list, 'must contain at least 1 address');
  else if (addresses.length > addressesMax) yield tooMany(list, addresses.length, addressesMax);
  for (const [i, address] of addresses.entries())
    if (type === 'FQDN') yield* qualifiedDomainErrors(address, index(list, i));
    else if (type === 'IPv4' || type === 'IPv6') yield* addressErrors(address, type, list, i);
  if (nodeName !== undefined) yield* problemsOf(child(path, 'nodeName'), nodeName, isSubdomain1123(nodeName));
  if (hostname !== undefined) yield* problemsOf(child(path, 'hostname'), hostname, isLabel1123(hostname));
  if (hints) yield* hintErrors(hints, child(path, 'hints'));
}

/** An address of the other family is an error of the list, as in Kubernetes. */
function* addressErrors(address: string, type: 'IPv4' | 'IPv6', list: string, i: number): Findings {
  const problems = type === 'IPv4' ? isIP(address) : isCanonicalIP(address);
  if (problems.length) return yield* problemsOf(index(list, i), address, problems);
  if (parseIP(address)?.family !== (type === 'IPv4' ? 4 : 6))
    yield invalid(list, address, `must be an ${type} address`);
  yield* endpointAddressErrors(address, index(list, i));
}

function* qualifiedDomainErrors(name: string, path: string): Findings {
  if (!name) return yield required(path);
  const relative = name.replace(/\.$/, '');
  const problems = isSubdomain1123(relative);
  if (problems.length) yield* problemsOf(path, name, problems);
  else if (!relative.includes('.'))
    yield invalid(path, name, 'should be a domain with at least two segments separated by dots');
}

function* hintErrors({ forZones = [], forNodes = [] }: EndpointHints, path: string): Findings {
  const lists = [
    { list: forZones, where: child(path, 'forZones'), check: isLabelValue },
    { list: forNodes, where: child(path, 'forNodes'), check: isSubdomain1123 },
  ];
  for (const { list, where, check } of lists) {
    if (list.length > hintsMax) return yield tooMany(where, list.length, hintsMax);
    const seen = new Set<string>();
    for (const [i, { name = '' }] of list.entries()) {
      const entry = child(index(where, i), 'name');
      if (seen.has(name)) yield duplicate(entry, name);
      seen.add(name);
      yield* problemsOf(entry, name, check(name));
    }
  }
}

export function* slicePortErrors(ports: readonly EndpointPortV1[] = []): Findings {
  if (ports.length > portsMax) return yield tooMany('ports', ports.length, portsMax);
  const seen = new Set<string>();
  for (const [i, { name = '', protocol = '', appProtocol }] of ports.entries()) {
    const path = index('ports', i);
    if (name) yield* problemsOf(child(path, 'name'), name, isLabel1123(name));
    if (seen.has(name)) yield duplicate(child(path, 'name'), name);
    seen.add(name);
    if (!protocols.includes(protocol)) yield notSupported(child(path, 'protocol'), protocol, protocols);
    if (appProtocol !== undefined)
      yield* problemsOf(child(path, 'appProtocol'), appProtocol, isQualifiedName(appProtocol));
  }
}
