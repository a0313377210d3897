/**
 * Deletes the Endpoints of a service together with it, in the same request as in Kubernetes: a new service of the same
 * name must not start with the old endpoints.
 */
import type { Removal } from '../removal.ts';
import { targetOf } from '../target.ts';
import { remove } from '../verbs/delete.ts';
import { actingAs } from '../writers.ts';
import type { Writing } from '../writing.ts';

export const endpointsRemoval: Removal<Writing> = {
  id: 'core/services',

  async removed(writing, { namespace, name }) {
    const entry = writing.registry.view.collection('core/endpoints').get(namespace, name);
    if (!entry) return;
    const { uid } = entry.object().metadata;
    try {
      await remove(writing, actingAs('kube-apiserver', 'delete'), targetOf(entry), {
        preconditions: { uid },
      });
    } catch {
      // The service is deleted already, so a failure here does not fail the request; most likely the Endpoints were
      // gone.
    }
  },
};
