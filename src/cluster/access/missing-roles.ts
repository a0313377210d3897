/** Creates roles and bindings that are missing, and leaves changed ones alone. */

import { rbacGroup } from '../../api/rules/access/rbac.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { Registry } from '../../registry/registry.ts';
import { collectionOf } from '../../registry/target.ts';
import { actingAs } from '../../registry/writers.ts';

/** @param resource the plural of its kind, such as `clusterroles` */
export async function createMissing(registry: Registry, resource: string, object: ApiObject): Promise<void> {
  const kind = registry.kinds.resource(`${rbacGroup}/v1`, resource)!;
  const { name = '', namespace = '' } = object.metadata;
  if (registry.view.collection(kind).get(namespace, name)) return;
  await registry.seed(actingAs('kube-apiserver', 'create'), collectionOf(kind, namespace), object);
}
