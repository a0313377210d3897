/** The token cleaner: deletes the secrets of expired bootstrap tokens. */

import type { Secret } from '../api/generated/types.ts';
import {
  bootstrapTokenNamespace,
  bootstrapTokenOf,
  bootstrapTokenType,
} from '../api/values/bootstrap-token.ts';
import { targetOf } from '../registry/target.ts';
import { remove } from '../registry/verbs/delete.ts';
import type { Entry } from '../registry/view/entry.ts';
import { type Controller, ifUnchanged, observe, running, type SharedContext } from './shared/controller.ts';
import { WorkQueue } from './shared/work-queue.ts';

export const tokenCleaner: Controller = {
  name: 'tokencleaner',
  housekeeping: true,
  writer: 'token-cleaner',
  start(context) {
    const queue: WorkQueue = new WorkQueue({
      timers: context.registry.timers,
      work: (name) => clean(context, queue, name),
      onError: (_, error) => context.onError(error),
    });
    const observation = observe(context, 'core/secrets', (entry) => {
      if (entry && isBootstrapSecret(entry)) queue.add(entry.name);
    });
    return running([observation], [queue]);
  },
};

export const isBootstrapSecret = (entry: Entry): boolean =>
  entry.namespace === bootstrapTokenNamespace && entry.field('type') === bootstrapTokenType;

async function clean(
  { registry, writing, request }: SharedContext,
  queue: WorkQueue,
  name: string,
): Promise<void> {
  const entry = registry.view.collection('core/secrets').get(bootstrapTokenNamespace, name);
  if (!entry || !isBootstrapSecret(entry)) return;
  const secret = entry.peek() as Secret;
  const expiresMs = bootstrapTokenOf(secret)?.expiresMs;
  if (expiresMs === undefined) return;
  const leftMs = expiresMs - registry.sources.nowMs();
  if (leftMs > 0) return queue.addAfter(name, leftMs);
  // Another secret may have taken the name meanwhile.
  const preconditions = { uid: secret.metadata.uid };
  await ifUnchanged(remove(writing, request('delete'), targetOf(entry), { preconditions }));
}
