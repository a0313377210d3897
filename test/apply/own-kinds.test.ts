/** Proves that kinds that are added at run time are applied like others: their types come from their own field table. */
import { beforeAll, describe, expect, it } from 'vitest';
import { widgetKind, widgetTable } from '../../src/api/kind/widget.fixture.ts';
import { type Json, mergePatch } from '../support/http.ts';
import { useKindServer } from '../support/kind-server.ts';

const server = useKindServer();
const path = '/apis/example.com/v1/namespaces/default/widgets/a';

const apply = (manager: string, spec: object, force = false) =>
  server.patch(
    `${path}?fieldManager=${manager}&force=${force}`,
    { kind: 'Widget', apiVersion: 'example.com/v1', metadata: { name: 'a' }, spec },
    'application/apply-patch+yaml',
  );

describe('kinds of a program', () => {
  beforeAll(() =>
    server.kinds.add(
      widgetKind(
        {},
        widgetTable('example.com/v1', {
          parts: { type: 'array', items: { ref: 'WidgetPart' }, listType: 'map', listKeys: ['name'] },
          tags: { type: 'array', items: { type: 'string' }, listType: 'set' },
          notes: { type: 'array', items: { type: 'string' } },
          free: { type: 'object', raw: true },
        }),
      ),
    ),
  );

  it('are merged by the types of their lists', async () => {
    const first = {
      parts: [{ name: 'lid', count: 1 }],
      tags: ['x'],
      notes: ['one'],
      free: { deep: { a: 1 } },
    };
    expect((await apply('alice', first)).status).toBe(200);
    const second = { parts: [{ name: 'pin', count: 4 }], tags: ['y'], free: { deep: { b: [1] } } };
    const { body } = await apply('bob', second);
    expect(body.spec).toEqual({
      parts: [
        { name: 'lid', count: 1 },
        { name: 'pin', count: 4 },
      ],
      tags: ['x', 'y'],
      notes: ['one'],
      free: { deep: { a: 1, b: [1] } },
    });
    const bob = body.metadata.managedFields.find(({ manager }: Json) => manager === 'bob');
    expect(bob.fieldsV1).toEqual({
      'f:spec': {
        'f:free': { 'f:deep': { '.': {}, 'f:b': {} } },
        'f:parts': { 'k:{"name":"pin"}': { '.': {}, 'f:count': {}, 'f:name': {} } },
        'f:tags': { 'v:"y"': {} },
      },
    });
  });

  it('have conflicts, and take no field that is not declared', async () => {
    expect((await apply('bob', { notes: ['two'] })).body.message).toBe(
      'Apply failed with 1 conflict: conflict with "alice": .spec.notes',
    );
    expect((await apply('bob', { shape: 'round' })).body.message).toBe(
      'failed to create typed patch object (/a; example.com/v1, Kind=Widget): .spec.shape: field not declared in schema',
    );
  });

  it('lose what is applied no longer, and track other writes', async () => {
    expect((await apply('bob', {})).body.spec.parts).toEqual([{ name: 'lid', count: 1 }]);
    const status = await server.request(
      'PATCH',
      `${path}/status?fieldManager=controller`,
      { status: { phase: 'Ready' } },
      { 'Content-Type': mergePatch },
    );
    expect(status.body.metadata.managedFields.at(-1)).toMatchObject({
      manager: 'controller',
      operation: 'Update',
      subresource: 'status',
      fieldsV1: { 'f:status': { '.': {}, 'f:phase': {} } },
    });
  });
});
