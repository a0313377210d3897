/** Proves that lists of metadata have what the objects have, whatever is in them, and are made in parts. */
import { expect, it } from 'vitest';
import { partialObject } from '../../api/kind/table.ts';
import { configMap } from '../../api/kinds/core/config-map.ts';
import { encodeObject } from '../../api/model/encode.ts';
import type { JsonObject } from '../../api/text/object.ts';
import { Entry } from '../../registry/view/entry.ts';
import { metadataParts } from './metadata-list.ts';

const version = 'meta.k8s.io/v1';
const managedFields = [
  {
    manager: 'kubectl',
    operation: 'Update',
    apiVersion: 'v1',
    time: '2020-01-02T03:04:05Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:data': { '.': {}, 'f:}"': {} } },
  },
];

function entryOf(i: number): Entry {
  const name = `a${i}`;
  const object = {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: {
      name,
      namespace: 'default',
      uid: `u-${i}`,
      annotations: { 'a"}': `}{\\"ü${i}` },
      ...(i % 2 ? { managedFields } : {}),
    },
    data: { metadata: '"metadata":{}' },
  };
  const text = encodeObject(configMap.model, object as unknown as JsonObject);
  return Entry.of(configMap, 'default', name, Buffer.from(text), i + 1);
}

const listed = (entries: readonly Entry[]) =>
  JSON.parse(
    Buffer.concat([...metadataParts(configMap, version, { resourceVersion: '9' }, entries)]).toString(),
  );

it.each([0, 1, 2, 5_000])('has the metadata of %s objects', (count) => {
  const entries = Array.from({ length: count }, (_, i) => entryOf(i));
  const expected = {
    kind: 'PartialObjectMetadataList',
    apiVersion: version,
    metadata: { resourceVersion: '9' },
    items: entries.map((entry) => partialObject(entry.shown(), version)),
  };
  expect(listed(entries)).toEqual(expected);
  // The second time, the places are known.
  expect(listed(entries)).toEqual(expected);
});

it('is made in parts of a bounded size', () => {
  const entries = Array.from({ length: 5_000 }, (_, i) => entryOf(i));
  const parts = [...metadataParts(configMap, version, {}, entries)];
  expect(parts.length).toBeGreaterThan(3);
  for (const part of parts) expect(part.length).toBeLessThan(300_000);
});
