/** CSINode: the storage drivers on a node. */
import { child, duplicate, type FieldError, index, invalid, required } from '../../errors/field-error.ts';
import type { CSINode, CSINodeDriver } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { innerForm } from '../../model/inner-form.ts';
import { modelOf } from '../../model/model.ts';
import { driverNameErrors } from '../../rules/device/driver-name.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings, negative, problemsOf } from '../../rules/shared/findings.ts';
import { semanticEqual } from '../../text/object.ts';
import { isQualifiedName } from '../../values/names.ts';

const nodeIdBytesMax = 256;

function* driversErrors({ spec }: CSINode): Findings {
  const names = new Set<string>();
  for (const [i, driver] of (spec?.drivers ?? []).entries()) {
    const { name = '', nodeID = '', allocatable } = driver;
    const path = index('spec.drivers', i);
    yield* driverNameErrors(name, child(path, 'name'));
    if (!nodeID) yield required(child(path, 'nodeID'));
    else if (Buffer.byteLength(nodeID) > nodeIdBytesMax)
      yield invalid(child(path, 'nodeID'), nodeID, `must be ${nodeIdBytesMax} characters or less`);
    yield* negative(child(child(path, 'allocatable'), 'count'), allocatable?.count);
    if (names.has(name)) yield duplicate(child(path, 'name'), name);
    names.add(name);
    yield* topologyKeyErrors(driver, path);
  }
}

/** Kubernetes reports these errors at the driver. */
function* topologyKeyErrors({ topologyKeys = [] }: CSINodeDriver, path: string): Findings {
  const seen = new Set<string>();
  for (const key of topologyKeys) {
    if (!key) yield required(path);
    if (seen.has(key)) yield duplicate(path, key);
    seen.add(key);
    yield* problemsOf(path, key, isQualifiedName(key));
  }
}

/** A driver that stays may change what can be allocated, and nothing else. */
function changeErrors({ spec }: CSINode, old: CSINode): FieldError[] {
  const errors: FieldError[] = [];
  for (const before of old.spec?.drivers ?? [])
    for (const driver of spec?.drivers ?? []) {
      const [now, then] = [driver, before].map((one) => ({ ...one, allocatable: undefined }));
      if (driver.name === before.name && !semanticEqual(now, then))
        errors.push(
          invalid(
            'spec.drivers',
            innerForm(modelOf('CSINodeDriver', 'storage-v1'), now),
            'field is immutable',
          ),
        );
    }
  return errors;
}

export const csiNode = defineKind<CSINode>({
  kind: 'CSINode',
  resource: 'csinodes',
  singular: 'csinode',
  group: 'storage.k8s.io',
  version: 'v1',
  table: 'storage-v1',
  namespaced: false,
  versionRequired: true,
  deletion: { returnsObject: true },

  validate: (node) => collect(driversErrors(node)),
  validateUpdate: changeErrors,

  columns: [
    nameColumn,
    { name: 'Drivers', type: 'integer', description: 'How many drivers the node has.' },
    ageColumn,
  ],
  cells: (node) => [node.metadata.name, node.spec?.drivers?.length ?? 0, ageCell(node)],
});
