/** ConfigMap: configuration as keys and values. */
import { invalid, key, tooLong } from '../../errors/field-error.ts';
import type { ConfigMap } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import {
  base64Bytes,
  dataBytes,
  dataBytesMax,
  dataKeyErrors,
  immutableErrors,
} from '../../rules/shared/config-data.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';

function* dataErrors({ data, binaryData }: ConfigMap): Findings {
  yield* dataKeyErrors(data, 'data');
  for (const name of Object.keys(data ?? {}))
    if (binaryData && Object.hasOwn(binaryData, name))
      yield invalid(key('data', name), name, 'duplicate of key present in binaryData');
  yield* dataKeyErrors(binaryData, 'binaryData');
  // The error is about the whole object, whose path Kubernetes writes `[]`.
  if (dataBytes(data, Buffer.byteLength) + dataBytes(binaryData, base64Bytes) > dataBytesMax)
    yield tooLong('[]', dataBytesMax);
}

export const configMap = defineKind<ConfigMap>({
  kind: 'ConfigMap',
  resource: 'configmaps',
  singular: 'configmap',
  shortNames: ['cm'],
  namespaced: true,

  validate: (map) => collect(dataErrors(map)),
  validateUpdate: (map, old) => immutableErrors(map, old, ['data', 'binaryData']),

  columns: [nameColumn, { name: 'Data', description: 'Number of keys.' }, ageColumn],
  cells: (map) => [
    map.metadata.name,
    Object.keys(map.data ?? {}).length + Object.keys(map.binaryData ?? {}).length,
    ageCell(map),
  ],
});
