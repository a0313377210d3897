/** The apiextensions group: kinds that users define. */
import type { Group } from '../../kind/group.ts';
import { customResourceDefinition } from './custom-resource-definition.ts';

export const group: Group = {
  name: 'apiextensions.k8s.io',
  priority: 16_700,
  versions: { v1: {} },
  package: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions',
  kinds: [customResourceDefinition],
};
