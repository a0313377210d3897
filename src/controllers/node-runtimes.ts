/**
 * The node runtimes controller: creates the RuntimeClass objects for the runtimes that nodes offer, as their labels
 * say. Nodes themselves are not allowed to create them.
 */
import type { Node } from '../api/generated/types.ts';
import { runtimeClassOf, runtimesOf } from '../api/rules/shared/node-runtimes.ts';
import type { ApiObject } from '../api/text/object.ts';
import { collectionOf } from '../registry/target.ts';
import { create } from '../registry/verbs/create.ts';
import { type Controller, ifUnchanged, observe, running } from './shared/controller.ts';
import { WorkQueue } from './shared/work-queue.ts';

export const nodeRuntimesController: Controller = {
  name: 'node-runtimes',
  writer: 'node-controller',
  start(context) {
    const { registry, writing, request } = context;
    const known = new Set<string>();
    const queue = new WorkQueue({
      timers: registry.timers,
      work: async (name) => {
        const kind = registry.kinds.resource('node.k8s.io/v1', 'runtimeclasses');
        if (!kind || registry.view.collection('node.k8s.io/runtimeclasses').get('', name)) return;
        const made = runtimeClassOf(name) as ApiObject;
        await ifUnchanged(create(writing, request('create'), collectionOf(kind, ''), made));
      },
      onError: (_, error) => context.onError(error),
    });
    const observation = observe(context, 'core/nodes', (entry) => {
      if (!entry) return;
      for (const name of runtimesOf(entry.peek() as Node)) {
        // Created once: a class that a user deleted is not created again.
        if (!known.has(name)) queue.add(name);
        known.add(name);
      }
    });
    return running([observation], [queue]);
  },
};
