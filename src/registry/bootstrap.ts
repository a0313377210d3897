/** Bootstrap: the objects a cluster has from the start. */
import { StatusError } from '../api/errors.ts';
import { create } from './create.ts';
import { internalWrite, type Registry } from './registry.ts';

const namespaces: readonly string[] = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

/** Creates what is missing. */
export async function bootstrap(registry: Registry): Promise<void> {
  const kind = registry.kinds.resource('v1', 'namespaces')!;
  await Promise.all(
    namespaces
      .filter((name) => !registry.view.collection('namespaces').get('', name))
      .map(async (name) => {
        try {
          await create(registry, kind, '', { metadata: { name } }, internalWrite());
        } catch (error) {
          // Another server on the same store was faster.
          if (!(error instanceof StatusError && error.code === 409)) throw error;
        }
      }),
  );
}
