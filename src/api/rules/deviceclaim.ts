/** Device claims: what a ResourceClaim and its templates ask for. */
import type {
  DeviceClaim,
  DeviceSubRequest,
  DeviceToleration,
  ExactDeviceRequest,
} from '../generated/types.ts';

export function defaultDeviceClaim(claim: DeviceClaim | undefined): void {
  for (const { exactly, firstAvailable } of claim?.requests ?? []) {
    if (exactly) defaultRequest(exactly);
    for (const request of firstAvailable ?? []) defaultRequest(request);
  }
}

function defaultRequest(request: ExactDeviceRequest | DeviceSubRequest): void {
  request.allocationMode ||= 'ExactCount';
  if (request.allocationMode === 'ExactCount') request.count ||= 1;
  defaultDeviceTolerations(request.tolerations);
}

function defaultDeviceTolerations(tolerations: readonly DeviceToleration[] | undefined): void {
  for (const toleration of tolerations ?? []) toleration.operator ||= 'Equal';
}
