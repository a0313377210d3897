/** The list of controllers. Adding one: its file, and a line here. */
import { actingAs } from '../registry/writers.ts';
import { autoscalerController } from './autoscalers.ts';
import { cronJobController } from './batch/cronjobs.ts';
import { jobController } from './batch/jobs.ts';
import { disruptionController } from './disruption.ts';
import { endpointsController } from './endpoints.ts';
import { eventExpiryController } from './eventexpiry.ts';
import { garbageCollector } from './garbagecollector.ts';
import { namespaceController } from './namespaces.ts';
import { nodeLifecycleController } from './nodelifecycle.ts';
import { podCollector } from './podcollector.ts';
import { protectionController } from './protection.ts';
import { resourceQuotaController } from './resourcequotas.ts';
import { schedulerController } from './scheduling/scheduler.ts';
import { serviceAccountController } from './serviceaccounts.ts';
import type { Controller, ControllerContext, RunningController } from './shared/controller.ts';
import { PodIndex } from './shared/podindex.ts';
import { tokenController } from './tokens.ts';
import { volumeBinder } from './volumebinder.ts';
import { daemonSetController } from './workloads/daemonsets.ts';
import { deploymentController } from './workloads/deployments.ts';
import { replicaSetController } from './workloads/replicasets.ts';
import { replicationController } from './workloads/replicationcontrollers.ts';
import { statefulSetController } from './workloads/statefulsets.ts';

export const controllers: readonly Controller[] = [
  namespaceController,
  garbageCollector,
  serviceAccountController,
  tokenController,
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
  schedulerController,
  nodeLifecycleController,
  podCollector,
  eventExpiryController,
  volumeBinder,
  autoscalerController,
  disruptionController,
];

/**
 * Which controllers run: `*` stands for all, a name for itself, and `-name` for all but that one. A list that takes
 * controllers away only begins with all. Throws when a name is unknown.
 */
export function chosenControllers(list: readonly string[]): readonly Controller[] {
  const names = new Set(
    list.every((item) => item.startsWith('-')) ? controllers.map(({ name }) => name) : [],
  );
  for (const item of list) {
    const name = item.replace(/^-/, '');
    if (item === '*') for (const controller of controllers) names.add(controller.name);
    else if (!controllers.some((controller) => controller.name === name))
      throw new Error(
        `there is no controller ${JSON.stringify(name)}; there are ${controllers.map((one) => one.name).join(', ')}`,
      );
    else if (item.startsWith('-')) names.delete(name);
    else names.add(name);
  }
  return controllers.filter(({ name }) => names.has(name));
}

/** Runs controllers until they are closed. */
export function startControllers(
  context: ControllerContext,
  chosen: readonly Controller[],
): RunningController {
  if (chosen.length === 0) return { settled: true, close: async () => undefined };
  const pods = new PodIndex(context);
  const running = chosen.map((controller) =>
    controller.start({ ...context, pods, request: (verb) => actingAs(controller.writer, verb) }),
  );
  return {
    get settled() {
      return running.every((controller) => controller.settled);
    },
    close: async () => {
      await Promise.all(running.map((controller) => controller.close()));
      pods.close();
    },
  };
}
