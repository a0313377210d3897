/** The resource group: devices, and claims to them. */
import type { Group } from '../../kind/group.ts';
import { deviceClass } from './device-class.ts';
import { resourceClaim } from './resource-claim.ts';
import { resourceClaimTemplate } from './resource-claim-template.ts';
import { resourceSlice } from './resource-slice.ts';

export const group: Group = {
  name: 'resource.k8s.io',
  priority: 16_200,
  versions: { v1: {} },
  kinds: [deviceClass, resourceClaim, resourceClaimTemplate, resourceSlice],
};
