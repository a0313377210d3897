/** Access to devices for monitoring, also to those in use: only namespaces with a label allow it. */
import { type FieldError, forbidden } from '../../api/errors/field-error.ts';
import type { ResourceClaimTemplate, ResourceClaimV1 } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { adminRequestPath, adminRequests } from '../../api/rules/device/device-claim.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { Registry } from '../registry.ts';

const label = 'resource.kubernetes.io/admin-access';

/** Errors of a new claim or template. */
export function adminAccessErrors({ view }: Registry, kind: Kind, object: ApiObject): FieldError[] {
  const found = devicesOf(kind, object);
  const requests = found ? adminRequests(found.devices ?? {}) : [];
  if (requests.length === 0) return [];
  const namespace = view.collection('core/namespaces').get('', object.metadata.namespace ?? '');
  if (namespace?.peek().metadata.labels?.[label] === 'true') return [];
  return requests.map((i) =>
    forbidden(
      adminRequestPath(found!.path, i),
      `admin access to devices requires the \`${label}: true\` label on the containing namespace`,
    ),
  );
}

function devicesOf({ id }: Kind, object: ApiObject) {
  if (id === 'resource.k8s.io/resourceclaims')
    return { devices: (object as ResourceClaimV1).spec?.devices, path: 'spec.devices' };
  if (id === 'resource.k8s.io/resourceclaimtemplates')
    return { devices: (object as ResourceClaimTemplate).spec?.spec?.devices, path: 'spec.spec.devices' };
  return undefined;
}
