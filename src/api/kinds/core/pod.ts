/** Pod: one or more containers that run together on a node. */

import type { ContainerStatus, Pod } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { inMetadata, resetting, resettingAllBut } from '../../kind/reset-fields.ts';
import { binding, ephemeralContainers, eviction, resize, status } from '../../kind/subresource.ts';
import { takeAppArmorAnnotations } from '../../rules/pod/app-armor.ts';
import { ephemeralChangeErrors } from '../../rules/pod/ephemeral-containers.ts';
import { podAnnotationErrors } from '../../rules/pod/pod-annotations.ts';
import { assign, bindingErrors } from '../../rules/pod/pod-binding.ts';
import { podCells, podColumns, podRowConditions } from '../../rules/pod/pod-columns.ts';
import { evictionState, noteEviction } from '../../rules/pod/pod-eviction.ts';
import { isFinished } from '../../rules/pod/pod-facts.ts';
import { resizeErrors, takeResources } from '../../rules/pod/pod-resize.ts';
import { takePodServerValues } from '../../rules/pod/pod-server-values.ts';
import { newPodErrors, podSpecErrors } from '../../rules/pod/pod-spec.ts';
import { defaultPodOnly, defaultPodSpec, nameAccount } from '../../rules/pod/pod-spec-defaults.ts';
import { alignPodIPs, newPodStatus, podStatusErrors } from '../../rules/pod/pod-status.ts';
import { keepsSpec, podUpdateErrors } from '../../rules/pod/pod-update.ts';
import { podWarnings } from '../../rules/pod-warnings/pod-warnings.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';
import { roundResources } from '../../rules/shared/resource-name.ts';
import { roundRequirements } from '../../rules/shared/resources.ts';

const gracePeriodSeconds = 30;

/** What a resize may change of containers. */
const resizable = { '*': { 'f:resources': {}, 'f:resizePolicy': {} } };

export const pod = defineKind<Pod>({
  kind: 'Pod',
  resource: 'pods',
  singular: 'pod',
  shortNames: ['po'],
  categories: ['all'],
  namespaced: true,
  subresources: [
    binding({ errors: bindingErrors, assign }),
    ephemeralContainers({
      validate: (pod, old) => [...collect(podErrors(pod)), ...collect(ephemeralChangeErrors(pod, old))],
      resets: resettingAllBut({ 'f:spec': { 'f:ephemeralContainers': {} } }),
    }),
    eviction({ guards: 'policy/poddisruptionbudgets', stateOf: evictionState, note: noteEviction }),
    resize({
      take: takeResources,
      validate: (pod, old) => [...collect(podErrors(pod)), ...collect(resizeErrors(pod, old))],
      resets: resettingAllBut({ 'f:spec': { 'f:containers': resizable, 'f:initContainers': resizable } }),
    }),
    status({
      prepare(pod, old) {
        const status = (pod.status ??= {});
        status.qosClass ||= old.status?.qosClass;
        status.observedGeneration ||= old.status?.observedGeneration;
        alignPodIPs(status);
        pod.metadata.ownerReferences = structuredClone(old.metadata.ownerReferences);
      },
      validate: (pod, old) => collect(podStatusErrors(pod, old)),
      resets: resetting(['spec'], inMetadata('deletionTimestamp', 'ownerReferences')),
    }),
  ],
  generationOf: 'spec',

  takeServerValues: takePodServerValues,

  defaults(pod) {
    const spec = (pod.spec ??= {});
    defaultPodSpec(spec);
    defaultPodOnly(spec);
    for (const status of statuses(pod)) {
      roundResources(status.allocatedResources);
      roundRequirements(status.resources);
    }
  },

  prepareForCreate(pod, { now }) {
    const spec = (pod.spec ??= {});
    // Admission may have set a service account.
    nameAccount(spec);
    takeAppArmorAnnotations(pod);
    pod.status = newPodStatus(spec, now);
  },

  validate: (pod, old) => collect(podErrors(pod, old)),

  validateUpdate: (pod, old) => collect(podUpdateErrors(pod, old)),

  warnings: podWarnings,

  deletion: {
    returnsObject: true,
    // Unscheduled and finished pods run nothing, so they are deleted without a grace period.
    gracePeriodSeconds(pod, requested) {
      const phase = pod.status?.phase;
      if (!pod.spec?.nodeName || isFinished(phase)) return 0;
      const seconds = Number(requested ?? pod.spec.terminationGracePeriodSeconds ?? gracePeriodSeconds);
      return seconds < 0 ? 1 : seconds;
    },
  },

  selectableFields: {
    'spec.nodeName': (pod) => pod.spec?.nodeName ?? '',
    'spec.restartPolicy': (pod) => pod.spec?.restartPolicy ?? '',
    'spec.schedulerName': (pod) => pod.spec?.schedulerName ?? '',
    'spec.serviceAccountName': (pod) => pod.spec?.serviceAccountName ?? '',
    'spec.hostNetwork': (pod) => String(pod.spec?.hostNetwork ?? false),
    'status.phase': (pod) => pod.status?.phase ?? '',
    'status.podIP': (pod) => pod.status?.podIPs?.[0]?.ip ?? pod.status?.podIP ?? '',
    'status.podIPs': (pod) => pod.status?.podIPs?.[0]?.ip ?? pod.status?.podIP ?? '',
    'status.nominatedNodeName': (pod) => pod.status?.nominatedNodeName ?? '',
  },
  fieldAliases: { 'spec.host': 'spec.nodeName' },

  columns: podColumns,
  cells: podCells,
  rowConditions: podRowConditions,
});

function* podErrors(pod: Pod, old?: Pod): Findings {
  const { metadata, spec = {} } = pod;
  yield* podAnnotationErrors(metadata.annotations, spec, 'metadata.annotations');
  // The stored spec was validated before.
  if (old && keepsSpec(pod, old)) return;
  yield* podSpecErrors(spec, 'spec', true);
  // Generation 1 is a pod that is being created.
  if ((metadata.generation ?? 1) <= 1) yield* newPodErrors(spec, 'spec');
}

function* statuses({ status }: Pod): Generator<ContainerStatus> {
  yield* status?.containerStatuses ?? [];
  yield* status?.initContainerStatuses ?? [];
  yield* status?.ephemeralContainerStatuses ?? [];
}
