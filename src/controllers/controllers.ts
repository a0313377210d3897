/** The list of controllers. Adding one: its file, and a line here. */
import { StatusError } from '../api/errors/errors.ts';
import { actingAs } from '../registry/writers.ts';
import { addressRepairController } from './addresses/address-repair.ts';
import { serviceCidrController } from './addresses/service-cidrs.ts';
import { autoscalerController } from './autoscalers.ts';
import { cronJobController } from './batch/cron-jobs.ts';
import { jobController } from './batch/jobs.ts';
import { bootstrapSigner } from './bootstrap-signer.ts';
import { certificateApprover } from './certificates/approver.ts';
import { certificateCleaner } from './certificates/cleaner.ts';
import { rootCertificatePublisher } from './certificates/root-publisher.ts';
import { certificateSigner } from './certificates/signer.ts';
import { clusterRoleAggregation } from './cluster-role-aggregation.ts';
import { disruptionController } from './disruption.ts';
import { endpointSliceController } from './endpoints/endpoint-slices.ts';
import { endpointsController } from './endpoints/endpoints.ts';
import { mirroringController } from './endpoints/mirroring.ts';
import { eventExpiryController } from './event-expiry.ts';
import { garbageCollector } from './garbage-collector.ts';
import { protectionController } from './in-use-protection.ts';
import { namespaceController } from './namespaces.ts';
import { nodeLifecycleController } from './node-lifecycle.ts';
import { nodeRuntimesController } from './node-runtimes.ts';
import { podCollector } from './pod-collector.ts';
import { resourceQuotaController } from './resource-quotas.ts';
import { schedulerController } from './scheduling/scheduler.ts';
import { serviceAccountController } from './service-accounts.ts';
import type { Controller, ControllerContext, RunningController } from './shared/controller.ts';
import { PodIndex } from './shared/pod-index.ts';
import { tokenCleaner } from './token-cleaner.ts';
import { tokenController } from './tokens.ts';
import { unreportedNodesController } from './unreported-nodes.ts';
import { ephemeralVolumeController } from './volumes/ephemeral-volumes.ts';
import { localPathProvisioner } from './volumes/local-path.ts';
import { volumeBinder } from './volumes/volume-binder.ts';
import { volumeExpander } from './volumes/volume-expander.ts';
import { daemonSetController } from './workloads/daemon-sets.ts';
import { deploymentController } from './workloads/deployments.ts';
import { replicaSetController } from './workloads/replica-sets.ts';
import { replicationController } from './workloads/replication-controllers.ts';
import { statefulSetController } from './workloads/stateful-sets.ts';

export const controllers: readonly Controller[] = [
  namespaceController,
  garbageCollector,
  serviceAccountController,
  tokenController,
  rootCertificatePublisher,
  certificateApprover,
  certificateSigner,
  certificateCleaner,
  tokenCleaner,
  bootstrapSigner,
  clusterRoleAggregation,
  protectionController,
  resourceQuotaController,
  replicationController,
  replicaSetController,
  deploymentController,
  daemonSetController,
  statefulSetController,
  jobController,
  cronJobController,
  endpointsController,
  endpointSliceController,
  mirroringController,
  serviceCidrController,
  addressRepairController,
  schedulerController,
  nodeLifecycleController,
  unreportedNodesController,
  nodeRuntimesController,
  podCollector,
  eventExpiryController,
  volumeBinder,
  volumeExpander,
  localPathProvisioner,
  ephemeralVolumeController,
  autoscalerController,
  disruptionController,
];

/**
 * Which controllers run. A list is read from left to right: a name stands for that controller, `*` for all,
 * `housekeeping` for those that belong to the API itself, and `-` before any of these removes them. A list with only
 * removals starts from all. `none` must be alone. Throws an error with a message for the operator when a list is
 * invalid.
 */
export function chosenControllers(list: readonly string[]): readonly Controller[] {
  if (list.length === 0 || (list.length === 1 && list[0] === 'none')) return [];
  const chosen = new Set(list.every((item) => item.startsWith('-')) ? controllers : []);
  for (const item of list) {
    const meant = controllersNamed(item.replace(/^-/, ''));
    for (const controller of meant)
      if (item.startsWith('-')) chosen.delete(controller);
      else chosen.add(controller);
  }
  return controllers.filter((controller) => chosen.has(controller));
}

function controllersNamed(word: string): readonly Controller[] {
  if (word === '*') return controllers;
  if (word === 'housekeeping') return controllers.filter(({ housekeeping }) => housekeeping);
  if (word === 'none') throw new Error('"none" stands alone in a list of controllers');
  const found = controllers.filter(({ name }) => name === word);
  if (found.length) return found;
  const names = controllers.map(({ name }) => name).join(', ');
  throw new Error(`there is no controller ${JSON.stringify(word)}; there are ${names}`);
}

/**
 * Whether the API refused a write (a used-up quota, a namespace being deleted). That is not a failure of the
 * controller: it records an event on the object and tries again.
 */
const isRefusal = (error: Error): boolean => error instanceof StatusError && error.code === 403;

/** Runs controllers until they are closed. */
export function startControllers(
  context: ControllerContext,
  chosen: readonly Controller[],
): RunningController {
  let pods: PodIndex | undefined;
  const start = ({ writer, start }: Controller): RunningController =>
    start({
      ...context,
      onError: (error) => {
        if (!isRefusal(error)) context.onError(error);
      },
      request: (verb) => actingAs(writer, verb),
      // Created for the first controller that needs it: housekeeping controllers do not, and it has a cost per pod
      // change.
      get pods() {
        pods ??= new PodIndex(context);
        return pods;
      },
    });
  // The node lifecycle controller does the work of the controller for unreported nodes, too.
  const all = chosen.includes(nodeLifecycleController)
    ? chosen.filter((controller) => controller !== unreportedNodesController)
    : chosen;
  const running = all.map(start);
  return {
    get settled() {
      return running.every((controller) => controller.settled);
    },
    get busy() {
      return all.filter((_, index) => !running[index]!.settled).map(({ name }) => name);
    },
    close: async () => {
      await Promise.all(running.map((controller) => controller.close()));
      pods?.close();
    },
  };
}
