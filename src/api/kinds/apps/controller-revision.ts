/** ControllerRevision: an earlier state of a DaemonSet or a StatefulSet, kept for rollbacks. */
import { invalid, required } from '../../errors/field-error.ts';
import type { ControllerRevision } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings, negative } from '../../rules/shared/findings.ts';
import { jsonText } from '../../text/json-text.ts';
import { isJsonObject, withSortedKeys } from '../../text/object.ts';

export const controllerRevision = defineKind<ControllerRevision>({
  kind: 'ControllerRevision',
  resource: 'controllerrevisions',
  singular: 'controllerrevision',
  group: 'apps',
  table: 'apps-v1',
  namespaced: true,

  validate: (object, old) => collect(revisionErrors(object, old)),

  validateUpdate({ data }, old) {
    // The data is immutable. The revision number may change: a state that is used again becomes the newest.
    if (canonical(data) === canonical(old.data)) return [];
    return [invalid('data', data ?? null, 'field is immutable')];
  },

  columns: [
    nameColumn,
    { name: 'Controller', description: 'The object whose state it is.' },
    { name: 'Revision', description: 'Its place among the states of that object.' },
    ageColumn,
  ],
  cells: (object) => [object.metadata.name, controllerCell(object), object.revision ?? 0, ageCell(object)],
});

function* revisionErrors(
  { data, revision }: ControllerRevision,
  old: ControllerRevision | undefined,
): Findings {
  yield* negative('revision', revision);
  if (old) return;
  if (data === undefined) yield required('data', 'data is mandatory');
  else if (!isJsonObject(data)) yield required('data', 'data must be a valid JSON object');
}

/** Canonical text of the data, independent of the order of keys. */
const canonical = (data: unknown): string => jsonText(withSortedKeys(data));

/** `statefulset.apps/web` */
function controllerCell({ metadata }: ControllerRevision): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  if (!owner) return '<none>';
  const [group] = owner.apiVersion?.includes('/') ? owner.apiVersion.split('/') : [''];
  const kind = group ? `${owner.kind}.${group}` : (owner.kind ?? '');
  return `${kind.toLowerCase()}/${owner.name}`;
}
