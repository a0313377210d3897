/** The list of controllers. Adding one: its file, and a line here. */
import type { Controller, ControllerContext, RunningController } from './controller.ts';
import { garbageCollector } from './garbagecollector.ts';
import { namespaceController } from './namespaces.ts';
import { protectionController } from './protection.ts';
import { resourceQuotaController } from './resourcequotas.ts';
import { serviceAccountController } from './serviceaccounts.ts';
import { tokenController } from './tokens.ts';

export const controllers: readonly Controller[] = [
  namespaceController,
  garbageCollector,
  serviceAccountController,
  tokenController,
  protectionController,
  resourceQuotaController,
];

/** Runs all controllers until they are closed. */
export function startControllers(context: ControllerContext): RunningController {
  const running = controllers.map((controller) => controller.start(context));
  return {
    get settled() {
      return running.every((controller) => controller.settled);
    },
    close: async () => {
      await Promise.all(running.map((controller) => controller.close()));
    },
  };
}
