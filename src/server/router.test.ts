/** Proves that routes are built from the table of kinds once, and again when it has changed. */
import { describe, expect, it } from 'vitest';
import { parseMetrics } from '../../test/support/metrics.ts';
import { defineKind } from '../api/kind/kind.ts';
import { status } from '../api/kind/subresource.ts';
import { configMap } from '../api/kinds/core/config-map.ts';
import type { ApiObject } from '../api/text/object.ts';
import { ns, useProxied } from './pods/proxying.fixture.ts';

const api = useProxied();
const drawers = '/apis/storage.example/v1/namespaces/ns/configmaps';

/** Config maps in another group, stored as the core kind. */
const drawer = defineKind<ApiObject>({
  kind: 'ConfigMap',
  resource: 'configmaps',
  singular: 'configmap',
  group: 'storage.example',
  namespaced: true,
  deprecation: 'drawers are going out of fashion',
  subresources: [status()],
  stored: {
    kind: configMap,
    toStored: (object) => ({ ...object, apiVersion: 'v1' }),
    fromStored: (object) => ({ ...object, apiVersion: 'storage.example/v1' }),
  },
});

describe('a kind that is added', () => {
  it('is served with the next request: collection, objects, parts, watches', async () => {
    await api.seed('configmaps', 'ns', { metadata: { name: 'a' }, data: { from: 'before' } });
    expect((await api.get(drawers)).text).toBe('404 page not found\n');
    expect((await api.get(`${ns}/configmaps/a`)).status).toBe(200);
    await api.registry.kinds.add(drawer);
    const list = await api.get(drawers);
    expect(list.body).toMatchObject({
      apiVersion: 'storage.example/v1',
      items: [{ data: { from: 'before' } }],
    });
    expect(list.warnings).toEqual(['"drawers are going out of fashion"']);
    expect((await api.get(`${drawers}/a`)).body.apiVersion).toBe('storage.example/v1');
    expect((await api.get(`${drawers}/a/status`)).status).toBe(200);
    expect((await api.request('DELETE', `${drawers}/a/status`)).status).toBe(405);
    expect((await api.get(`${drawers}/a/nosub`)).status).toBe(404);
    expect((await api.get('/apis/storage.example/v1/configmaps/a')).status).toBe(404);
    expect((await api.get('/apis/storage.example/v1/nopes')).body.reason).toBe('NotFound');
    const watch = await api.watch(`${drawers}?watch=true&resourceVersion=0`);
    expect((await watch.next()).object.apiVersion).toBe('storage.example/v1');
    watch.close();
    expect((await api.get(`${ns}/configmaps/a`)).status).toBe(200);
  });

  it('is counted under its own name from then on', async () => {
    await api.get(`${drawers}/a`);
    const labels = { group: 'storage.example', version: 'v1', resource: 'configmaps', verb: 'GET' };
    const metrics = parseMetrics((await api.get('/metrics')).text);
    expect(metrics.value('apiserver_request_total', { ...labels, code: '200' })).toBeGreaterThan(0);
  });
});
