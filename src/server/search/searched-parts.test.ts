/** Proves what objects are found by, and that values of secrets are not among it. */
import { expect, it } from 'vitest';
import { KindTable } from '../../api/kinds/kinds.ts';
import { encodeObject } from '../../api/model/encode.ts';
import type { JsonObject } from '../../api/text/object.ts';
import { Entry } from '../../registry/view/entry.ts';
import { searchedParts } from './searched-parts.ts';

const table = new KindTable();

function partsOf(resource: string, object: JsonObject): string[] {
  const kind = table.resource('v1', resource)!;
  const metadata = { name: 'a', namespace: 'n', uid: 'u-1', ...(object.metadata as object) };
  const whole = { kind: kind.kind, apiVersion: 'v1', ...object, metadata };
  const text = encodeObject(kind.model, whole as unknown as JsonObject);
  const entry = Entry.of(kind, 'n', 'a', Buffer.from(text), 7);
  return searchedParts(entry).map((part) => `${part.by} ${part.text}`);
}

it('an object is found by its name, uid, labels, images and addresses', () => {
  const managedFields = [{ manager: 'm', operation: 'Update', fieldsV1: { 'f:spec': { 'f:image': {} } } }];
  const annotations = { last: '{"image":"annotated:1","labels":{"x":"y"}}' };
  expect(
    partsOf('pods', {
      metadata: { labels: { app: 'web', tier: 'a.b' }, annotations, managedFields } as unknown as JsonObject,
      spec: { containers: [{ name: 'c', image: 'web:1' }], initContainers: [{ name: 'i', image: 'web:1' }] },
      status: { podIP: '10.0.0.7', hostIP: '192.168.0.1', podIPs: [{ ip: '10.0.0.7' }, { ip: 'fd00::7' }] },
    }),
  ).toEqual([
    'name n/a',
    'uid u-1',
    'label app=web',
    'label tier=a.b',
    'image web:1',
    'address 192.168.0.1',
    'address 10.0.0.7',
    'address fd00::7',
  ]);
  expect(partsOf('services', { spec: { clusterIP: '10.96.0.1', externalName: 'x.example' } })).toEqual([
    'name n/a',
    'uid u-1',
    'address 10.96.0.1',
    'address x.example',
  ]);
});

it('values of secrets are left out', () => {
  expect(
    partsOf('secrets', { metadata: { labels: { a: 'b' } }, data: { image: 'c2VjcmV0', host: 'eA==' } }),
  ).toEqual(['name n/a', 'uid u-1', 'label a=b']);
});

it('what is kept of an object is bounded', () => {
  const containers = Array.from({ length: 400 }, (_, i) => ({ name: `c${i}`, image: `image-number:${i}` }));
  expect(partsOf('pods', { spec: { containers } }).join('').length).toBeLessThan(8_192);
});
