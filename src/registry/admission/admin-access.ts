/** Admin access to devices (for monitoring, also of devices in use): allowed only in namespaces with a label for it. */
import { forbidden } from '../../api/errors/field-error.ts';
import type { ResourceClaimTemplate, ResourceClaimV1 } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { adminRequestPath, adminRequests } from '../../api/rules/device/device-claim.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { WriteRule } from '../admission-chain.ts';

const label = 'resource.kubernetes.io/admin-access';
const claims = 'resource.k8s.io/resourceclaims';
const templates = 'resource.k8s.io/resourceclaimtemplates';

/** Checks new claims and templates only: their requests cannot be changed later. */
export const adminAccess: WriteRule = {
  kinds: [claims, templates],
  errors({ view }, { operation, target, object }) {
    if (operation !== 'create') return [];
    const { devices = {}, path } = devicesOf(target.kind, object!);
    const requests = adminRequests(devices);
    if (requests.length === 0) return [];
    const namespace = view.collection('core/namespaces').get('', object!.metadata.namespace ?? '');
    if (namespace?.peek().metadata.labels?.[label] === 'true') return [];
    return requests.map((i) =>
      forbidden(
        adminRequestPath(path, i),
        `admin access to devices requires the \`${label}: true\` label on the containing namespace`,
      ),
    );
  },
};

const devicesOf = ({ id }: Kind, object: ApiObject) =>
  id === claims
    ? { devices: (object as ResourceClaimV1).spec?.devices, path: 'spec.devices' }
    : { devices: (object as ResourceClaimTemplate).spec?.spec?.devices, path: 'spec.spec.devices' };
