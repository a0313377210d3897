/** DeviceClass: which devices requests of the class may get, and how the devices are set up. */
import { child, invalid } from '../../errors/field-error.ts';
import type { DeviceClass } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { listErrors, opaqueErrors, selectorErrors } from '../../rules/device/device-parts.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';
import { isExtendedResource } from '../../rules/shared/resource-name.ts';

const settingsMax = 32;

function* specErrors({ spec = {} }: DeviceClass): Findings {
  const { selectors, config = [], extendedResourceName: name } = spec;
  yield* selectorErrors(selectors, 'spec.selectors');
  yield* listErrors(config, settingsMax, 'spec.config', ({ opaque }, path) =>
    opaqueErrors(opaque, child(path, 'opaque')),
  );
  if (name !== undefined && !isExtendedResource(name))
    yield invalid('spec.extendedResourceName', name, 'must be a valid extended resource name');
}

export const deviceClass = defineKind<DeviceClass>({
  kind: 'DeviceClass',
  resource: 'deviceclasses',
  singular: 'deviceclass',
  group: 'resource.k8s.io',
  version: 'v1',
  table: 'resource-v1',
  namespaced: false,
  deletion: { returnsObject: true },
  generationOf: 'spec',

  validate: (device) => collect(specErrors(device)),

  columns: [nameColumn, ageColumn],
  cells: (device) => [device.metadata.name, ageCell(device)],
});
