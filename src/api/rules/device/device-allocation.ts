/** The status of a ResourceClaim: which devices it was given, who uses them, and what drivers say about them. */

import {
  child,
  duplicate,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
} from '../../errors/field-error.ts';
import type {
  AllocatedDeviceStatus,
  AllocationResult,
  NetworkDeviceData,
  ResourceClaimV1 as ResourceClaim,
  ResourceClaimConsumerReference,
} from '../../generated/types.ts';
import { innerForm } from '../../model/inner-form.ts';
import { modelOf } from '../../model/model.ts';
import { isInterfaceAddress } from '../../values/addresses.ts';
import { isLabel1123 } from '../../values/names.ts';
import { nodeSelectorErrors } from '../pod/affinity.ts';
import { changedFields } from '../shared/change.ts';
import { conditionErrors } from '../shared/condition.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';
import { oneReferenceErrors, requestNames } from './device-claim.ts';
import { poolNameErrors } from './device-names.ts';
import { listErrors, opaqueErrors, rawErrors } from './device-parts.ts';
import { driverNameErrors } from './driver-name.ts';

const consumersMax = 256;
const resultsMax = 32;
const conditionsMax = 8;
const interfaceNameBytesMax = 256;
const hardwareAddressBytesMax = 128;
const addressesMax = 16;
const sources = ['FromClaim', 'FromClass'];

interface DeviceId {
  driver?: string;
  pool?: string;
  device?: string;
  shareID?: string;
}

const idText = ({ driver = '', pool = '', device = '', shareID = '' }: DeviceId): string =>
  JSON.stringify([driver, pool, device, shareID]);

const resultsOf = ({ status }: ResourceClaim): DeviceId[] => status?.allocation?.devices?.results ?? [];

export function* claimStatusErrors(claim: ResourceClaim, old: ResourceClaim): Findings {
  const { reservedFor = [], allocation, devices = [] } = claim.status ?? {};
  const path = 'status.reservedFor';
  const seen = new Set<string>();
  yield* listErrors(reservedFor, consumersMax, path, function* (consumer, at) {
    yield* consumerErrors(consumer, at);
    if (seen.has(consumer.uid ?? '')) yield duplicate(at, consumer.uid ?? '');
    seen.add(consumer.uid ?? '');
  });
  const before = new Set(old.status?.reservedFor?.map(({ uid }) => uid));
  if (reservedFor.length && !allocation)
    yield forbidden(path, 'may not be specified when `allocated` is not set');
  else if (claim.metadata.deletionTimestamp && reservedFor.some(({ uid }) => !before.has(uid)))
    yield forbidden(
      path,
      'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set',
    );
  if (allocation) yield* allocationErrors(claim, allocation, old);
  const allocated = new Set(resultsOf(claim).map(idText));
  for (const [i, device] of devices.entries())
    yield* deviceErrors(device, index('status.devices', i), allocated);
}

function* consumerErrors(consumer: ResourceClaimConsumerReference, path: string): Findings {
  for (const name of ['resource', 'name', 'uid'] as const)
    if (!consumer[name]) yield required(child(path, name));
}

function* allocationErrors(claim: ResourceClaim, allocation: AllocationResult, old: ResourceClaim): Findings {
  const path = 'status.allocation';
  const before = old.status?.allocation;
  if (before) {
    const model = modelOf('AllocationResult', 'resource-v1');
    if (changedFields(model, allocation, before).length)
      yield invalid(path, innerForm(model, allocation), 'field is immutable');
    return;
  }
  const names = requestNames(claim.spec?.devices ?? {});
  const { results = [], config = [] } = allocation.devices ?? {};
  const devices = child(path, 'devices');
  yield* listErrors(results, resultsMax, child(devices, 'results'), function* (result, at) {
    yield* oneReferenceErrors(result.request ?? '', child(at, 'request'), names);
    yield* driverNameErrors(result.driver, child(at, 'driver'));
    yield* poolNameErrors(result.pool, child(at, 'pool'));
    yield* problemsOf(child(at, 'device'), result.device ?? '', isLabel1123(result.device ?? ''));
  });
  yield* listErrors(config, resultsMax * 2, child(devices, 'config'), function* (setting, at) {
    if (!setting.source) yield required(child(at, 'source'));
    else if (!sources.includes(setting.source))
      yield notSupported(child(at, 'source'), setting.source, sources);
    for (const [i, request] of (setting.requests ?? []).entries())
      yield* oneReferenceErrors(request, index(child(at, 'requests'), i), names);
    yield* opaqueErrors(setting.opaque, child(at, 'opaque'));
  });
  if (allocation.nodeSelector)
    yield* nodeSelectorErrors(allocation.nodeSelector.nodeSelectorTerms, child(path, 'nodeSelector'));
}

function* deviceErrors(
  device: AllocatedDeviceStatus,
  path: string,
  allocated: ReadonlySet<string>,
): Findings {
  const { driver, pool, device: name = '', shareID = '', conditions = [], data, networkData } = device;
  yield* driverNameErrors(driver, child(path, 'driver'));
  yield* poolNameErrors(pool, child(path, 'pool'));
  yield* problemsOf(child(path, 'device'), name, isLabel1123(name));
  if (!allocated.has(idText(device)))
    yield invalid(
      path,
      { Driver: driver ?? '', Pool: pool ?? '', Device: name, ShareID: shareID },
      'must be an allocated device in the claim',
    );
  if (conditions.length > conditionsMax)
    yield tooMany(child(path, 'conditions'), conditions.length, conditionsMax);
  yield* conditionErrors(conditions, child(path, 'conditions'));
  if (data !== undefined) yield* rawErrors(data, child(path, 'data'));
  if (networkData) yield* networkErrors(networkData, child(path, 'networkData'));
}

function* networkErrors(data: NetworkDeviceData, path: string): Findings {
  const { interfaceName = '', hardwareAddress = '', ips = [] } = data;
  if (Buffer.byteLength(interfaceName) > interfaceNameBytesMax)
    yield tooLong(child(path, 'interfaceName'), interfaceNameBytesMax);
  if (Buffer.byteLength(hardwareAddress) > hardwareAddressBytesMax)
    yield tooLong(child(path, 'hardwareAddress'), hardwareAddressBytesMax);
  const seen = new Set<string>();
  yield* listErrors(ips, addressesMax, child(path, 'ips'), function* (ip, at) {
    yield* problemsOf(at, ip, isInterfaceAddress(ip));
    if (seen.has(ip)) yield duplicate(at, ip);
    seen.add(ip);
  });
}

/** Removes what drivers reported about devices that are no longer allocated. */
export function dropDeallocated(claim: ResourceClaim, old: ResourceClaim): void {
  const { status } = claim;
  if (!status?.devices?.length) return;
  const gone = new Set(resultsOf(old).map(idText));
  for (const result of resultsOf(claim)) gone.delete(idText(result));
  const kept = status.devices.filter((device) => !gone.has(idText(device)));
  status.devices = kept.length ? kept : undefined;
}
