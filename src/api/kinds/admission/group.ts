/** The admission group: what webhooks are sent and answer. Its objects are not served. */
import type { Group } from '../../kind/group.ts';

export const group: Group = {
  name: 'admission.k8s.io',
  versions: { v1: {} },
};
