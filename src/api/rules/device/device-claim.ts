/** Device claims: what a ResourceClaim and its templates ask for. */
import { child, duplicate, index, invalid, notSupported, required } from '../../errors/field-error.ts';
import type {
  DeviceClaim,
  DeviceConstraint,
  DeviceRequest,
  DeviceSubRequest,
  DeviceToleration,
  ExactDeviceRequest,
} from '../../generated/types.ts';
import { isLabel1123, isSubdomain1123 } from '../../values/names.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';
import { attributeNameErrors, fullAttributeNameErrors } from './device-names.ts';
import { listErrors, opaqueErrors, selectorErrors, tolerationsErrors } from './device-parts.ts';

const requestsMax = 32;
const alternativesMax = 8;
const modes = ['All', 'ExactCount'];
const referenceText =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

export function defaultDeviceClaim(claim: DeviceClaim | undefined): void {
  for (const { exactly, firstAvailable } of claim?.requests ?? []) {
    if (exactly) defaultRequest(exactly);
    for (const request of firstAvailable ?? []) defaultRequest(request);
  }
}

function defaultRequest(request: ExactDeviceRequest | DeviceSubRequest): void {
  request.allocationMode ||= 'ExactCount';
  if (request.allocationMode === 'ExactCount') request.count ||= 1;
  defaultTolerations(request.tolerations);
}

function defaultTolerations(tolerations: readonly DeviceToleration[] | undefined): void {
  for (const toleration of tolerations ?? []) toleration.operator ||= 'Equal';
}

export function* deviceClaimErrors(claim: DeviceClaim, path: string): Findings {
  const { requests = [], constraints = [], config = [] } = claim;
  const names = requestNames(claim);
  const seen = new Set<string>();
  yield* listErrors(requests, requestsMax, child(path, 'requests'), function* (request, at) {
    yield* requestErrors(request, at);
    yield* repeated(seen, request.name ?? '', at);
  });
  yield* listErrors(constraints, requestsMax, child(path, 'constraints'), (constraint, at) =>
    constraintErrors(constraint, at, names),
  );
  yield* listErrors(config, requestsMax, child(path, 'config'), function* (setting, at) {
    yield* referenceErrors(setting.requests, child(at, 'requests'), names);
    yield* opaqueErrors(setting.opaque, child(at, 'opaque'));
  });
}

function* repeated(seen: Set<string>, key: string, path: string): Findings {
  if (seen.has(key)) yield duplicate(path, key);
  seen.add(key);
}

/** What references may name: requests, and their alternatives as `request/alternative`. */
export const requestNames = ({ requests = [] }: DeviceClaim): ReadonlySet<string> =>
  new Set(
    requests.flatMap(({ name = '', firstAvailable = [] }) => [
      name,
      ...firstAvailable.map((alternative) => `${name}/${alternative.name}`),
    ]),
  );

function* requestErrors({ name = '', exactly, firstAvailable = [] }: DeviceRequest, path: string): Findings {
  yield* problemsOf(child(path, 'name'), name, isLabel1123(name));
  const seen = new Set<string>();
  yield* listErrors(firstAvailable, alternativesMax, child(path, 'firstAvailable'), function* (one, at) {
    yield* problemsOf(child(at, 'name'), one.name ?? '', isLabel1123(one.name ?? ''));
    yield* exactErrors(one, at);
    yield* repeated(seen, one.name ?? '', at);
  });
  if (exactly) yield* exactErrors(exactly, child(path, 'exactly'));
  const one = 'exactly one of `exactly` or `firstAvailable` is required';
  if (!exactly && firstAvailable.length === 0) yield required(path, one);
  else if (exactly && firstAvailable.length) yield invalid(path, null, `${one}, but multiple fields are set`);
}

function* exactErrors(request: ExactDeviceRequest | DeviceSubRequest, path: string): Findings {
  const { deviceClassName: name, allocationMode = '', count = 0, capacity } = request;
  if (name) yield* problemsOf(child(path, 'deviceClassName'), name, isSubdomain1123(name));
  else yield required(child(path, 'deviceClassName'));
  yield* selectorErrors(request.selectors, child(path, 'selectors'));
  const countPath = child(path, 'count');
  if (!modes.includes(allocationMode))
    yield notSupported(child(path, 'allocationMode'), allocationMode, modes);
  else if (allocationMode === 'All' && count !== 0)
    yield invalid(countPath, count, "must not be specified when allocationMode is 'All'");
  else if (allocationMode === 'ExactCount' && count <= 0)
    yield invalid(countPath, count, 'must be greater than zero');
  yield* tolerationsErrors(request.tolerations, child(path, 'tolerations'));
  for (const capacityName of Object.keys(capacity?.requests ?? {}))
    yield* attributeNameErrors(capacityName, child(child(path, 'capacity'), 'requests'));
}

function* constraintErrors(constraint: DeviceConstraint, path: string, names: ReadonlySet<string>): Findings {
  const { requests, matchAttribute, distinctAttribute } = constraint;
  yield* referenceErrors(requests, child(path, 'requests'), names);
  if (matchAttribute !== undefined)
    yield* fullAttributeNameErrors(matchAttribute, child(path, 'matchAttribute'));
  else if (distinctAttribute !== undefined)
    yield* fullAttributeNameErrors(distinctAttribute, child(path, 'distinctAttribute'));
  // The words of Kubernetes, which do not fit.
  else
    yield required(
      path,
      'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
    );
}

function* referenceErrors(
  requests: readonly string[] = [],
  path: string,
  names: ReadonlySet<string>,
): Findings {
  const seen = new Set<string>();
  yield* listErrors(requests, requestsMax, path, function* (request, at) {
    yield* oneReferenceErrors(request, at, names);
    yield* repeated(seen, request, at);
  });
}

export function* oneReferenceErrors(request: string, path: string, names: ReadonlySet<string>): Findings {
  if (!names.has(request)) yield invalid(path, request, referenceText);
}

/** The requests for access that only some namespaces allow, as indexes. */
export const adminRequests = ({ requests = [] }: DeviceClaim): number[] =>
  requests.flatMap(({ exactly }, i) => (exactly?.adminAccess ? [i] : []));

export const adminRequestPath = (path: string, i: number): string =>
  child(index(child(path, 'requests'), i), 'adminAccess');
