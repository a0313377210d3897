/** ComponentStatus: the health of a part of the control plane. Computed on request, never stored. */
import type { ComponentStatus } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { nameColumn } from '../../rules/shared/columns.ts';

export const componentStatus = defineKind<ComponentStatus>({
  kind: 'ComponentStatus',
  resource: 'componentstatuses',
  singular: 'componentstatus',
  shortNames: ['cs'],
  namespaced: false,
  verbs: ['get', 'list'],
  deprecation: 'v1 ComponentStatus is deprecated in v1.19+',

  columns: [
    nameColumn,
    { name: 'Status', description: 'Whether the component is healthy.' },
    { name: 'Message', description: 'What the component says of itself.' },
    { name: 'Error', description: 'What went wrong when it was asked.' },
  ],

  cells({ metadata, conditions }) {
    const healthy = conditions?.find((condition) => condition.type === 'Healthy');
    const status =
      healthy?.status === 'True' ? 'Healthy' : healthy?.status === 'False' ? 'Unhealthy' : 'Unknown';
    return [metadata.name, status, healthy?.message ?? '', healthy?.error ?? ''];
  },
});
