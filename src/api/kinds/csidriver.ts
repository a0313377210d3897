/** CSIDriver: what a driver of the container storage interface can do, and wants of nodes. */
import type { CSIDriver } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { ageCell, ageColumn, nameColumn } from '../rules/columns.ts';
import { orUnset } from '../rules/volumeaccess.ts';

export const csiDriver = defineKind<CSIDriver>({
  kind: 'CSIDriver',
  resource: 'csidrivers',
  singular: 'csidriver',
  group: 'storage.k8s.io',
  version: 'v1',
  table: 'storage-v1',
  namespaced: false,
  versionRequired: true,
  deleteReturnsObject: true,
  generationOf: 'spec',

  defaults(driver) {
    const spec = (driver.spec ??= {});
    spec.attachRequired ??= true;
    spec.podInfoOnMount ??= false;
    spec.storageCapacity ??= false;
    spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType';
    spec.volumeLifecycleModes ??= ['Persistent'];
    spec.requiresRepublish ??= false;
    spec.seLinuxMount ??= false;
  },
  // As in Kubernetes, where the first change of a driver makes its generation 1.
  prepareForCreate({ metadata }) {
    metadata.generation = undefined;
  },

  columns: [
    nameColumn,
    { name: 'AttachRequired', type: 'boolean', description: 'Whether volumes are attached to nodes first.' },
    { name: 'PodInfoOnMount', type: 'boolean', description: 'Whether the driver is told about the pod.' },
    { name: 'StorageCapacity', type: 'boolean', description: 'Whether the driver tells what is left.' },
    { name: 'TokenRequests', description: 'Audiences of the tokens that the driver gets.' },
    {
      name: 'RequiresRepublish',
      type: 'boolean',
      description: 'Whether it is called again from time to time.',
    },
    { name: 'Modes', description: 'Which kinds of volumes it has.' },
    ageColumn,
  ],
  cells: (driver) => {
    const { spec = {} } = driver;
    return [
      driver.metadata.name,
      spec.attachRequired ?? true,
      spec.podInfoOnMount ?? false,
      spec.storageCapacity ?? false,
      orUnset(spec.tokenRequests?.map(({ audience }) => audience ?? '').join(',')),
      spec.requiresRepublish ?? false,
      (spec.volumeLifecycleModes ?? []).join(','),
      ageCell(driver),
    ];
  },
});
