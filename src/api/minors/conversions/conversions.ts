/** Conversions of versions that differ from today's in more than their name, by version and kind. */

import { autoscalerV2beta1 } from './autoscaler.ts';
import { changeMember, defined, type VersionConversion } from './conversion.ts';
import { claimTemplateV1beta1, claimV1beta1, sliceV1alpha3, sliceV1beta1 } from './devices.ts';
import { endpointSliceV1beta1 } from './endpoint-slice.ts';
import { priorityLevelV1beta2, priorityLevelV1beta3 } from './priority-level.ts';

const runtimeClassV1alpha1: VersionConversion = {
  up({ spec, ...object }) {
    const { runtimeHandler, overhead, scheduling } = (spec ?? {}) as Record<string, unknown>;
    return defined({ ...object, handler: runtimeHandler, overhead, scheduling });
  },
  down: ({ handler, overhead, scheduling, ...object }) => ({
    ...object,
    spec: defined({ runtimeHandler: handler, overhead, scheduling }),
  }),
};

/** The first version had a list of strategies, of which the first counted. */
const candidateV1alpha1: VersionConversion = {
  up(object) {
    changeMember(object, 'spec', ({ preferredStrategies, ...spec }) =>
      defined({ ...spec, strategy: (preferredStrategies as string[] | undefined)?.[0] }),
    );
    return object;
  },
  down(object) {
    changeMember(object, 'spec', ({ strategy, ...spec }) =>
      defined({ ...spec, preferredStrategies: strategy === undefined ? undefined : [strategy] }),
    );
    return object;
  },
};

const flowcontrol = 'flowcontrol.apiserver.k8s.io';

export const conversions: Readonly<Record<string, VersionConversion>> = {
  'autoscaling/v2beta1 HorizontalPodAutoscaler': autoscalerV2beta1,
  'coordination.k8s.io/v1alpha1 LeaseCandidate': candidateV1alpha1,
  'discovery.k8s.io/v1beta1 EndpointSlice': endpointSliceV1beta1,
  [`${flowcontrol}/v1beta1 PriorityLevelConfiguration`]: priorityLevelV1beta2,
  [`${flowcontrol}/v1beta2 PriorityLevelConfiguration`]: priorityLevelV1beta2,
  [`${flowcontrol}/v1beta3 PriorityLevelConfiguration`]: priorityLevelV1beta3,
  'node.k8s.io/v1alpha1 RuntimeClass': runtimeClassV1alpha1,
  'resource.k8s.io/v1alpha3 ResourceClaim': claimV1beta1,
  'resource.k8s.io/v1alpha3 ResourceClaimTemplate': claimTemplateV1beta1,
  'resource.k8s.io/v1alpha3 ResourceSlice': sliceV1alpha3,
  'resource.k8s.io/v1beta1 ResourceClaim': claimV1beta1,
  'resource.k8s.io/v1beta1 ResourceClaimTemplate': claimTemplateV1beta1,
  'resource.k8s.io/v1beta1 ResourceSlice': sliceV1beta1,
};

/** Versions whose objects became those of no later version: each is stored by itself. */
export const dropped: ReadonlySet<string> = new Set([
  'resource.k8s.io/v1alpha1',
  'resource.k8s.io/v1alpha2',
  'scheduling.k8s.io/v1alpha1',
]);
