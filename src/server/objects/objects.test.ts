/** Proves that the registry gets user and options of every write by a client. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { mergePatch, useCluster } from '../../../test/support/http.ts';
import { namespaceLifecycle } from '../../registry/admission/namespace-lifecycle.ts';
import type { Admission } from '../../registry/admission-chain.ts';

const nowMs = Date.UTC(2026, 0, 2);
const api = useCluster({ controllers: false, chance: { nowMs: () => nowMs } });
const maps = '/api/v1/namespaces/default/configmaps';

let seen: Admission[];

beforeEach(() => {
  seen = [];
  const { validate } = namespaceLifecycle;
  vi.spyOn(namespaceLifecycle, 'validate').mockImplementation((...shown) => {
    if (shown[1].request.user.name !== 'system:apiserver') seen.push(shown[1]);
    return validate!(...shown);
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a request to the registry', () => {
  it('says who asks, for what, and with which tool', async () => {
    await api.post(maps, { metadata: { name: 'a' } }, { 'User-Agent': 'kubectl/v1.36.0 (linux/arm64)' });
    expect(seen).toMatchObject([
      {
        operation: 'create',
        target: { kind: { resource: 'configmaps' }, namespace: 'default', name: 'a', part: 'main' },
        request: {
          user: { name: 'system:unsecured', groups: ['system:masters', 'system:authenticated'] },
          verb: 'create',
          userAgent: 'kubectl/v1.36.0 (linux/arm64)',
          fieldManager: 'kubectl',
          dryRun: false,
          fieldValidation: 'Warn',
        },
      },
    ]);
  });

  it('says what its options are', async () => {
    const query = '?fieldManager=gitops&dryRun=All&fieldValidation=Strict';
    await api.request(
      'PATCH',
      `${maps}/a${query}`,
      { data: { x: 'y' } },
      {
        'Content-Type': mergePatch,
        'User-Agent': 'tool/1',
      },
    );
    expect(seen).toMatchObject([
      {
        operation: 'update',
        request: { verb: 'patch', fieldManager: 'gitops', dryRun: true, fieldValidation: 'Strict' },
      },
    ]);
  });

  it('has a manager although no tool is named, and reads names as UTF-8', async () => {
    await api.put(`${maps}/a`, { metadata: { name: 'a' } });
    const name = Buffer.from('Grüße/1', 'utf8').toString('latin1');
    await api.put(`${maps}/a`, { metadata: { name: 'a' } }, { 'User-Agent': name });
    expect(seen.map(({ request }) => request.fieldManager)).toEqual(['unknown', 'Grüße']);
  });

  it('has the time that its client, or else the server, gives it', async () => {
    for (const query of ['', '?timeout=5s', '?timeout=1h'])
      await api.put(`${maps}/a${query}`, { metadata: { name: 'a' } });
    await api.delete(`${maps}/none?timeout=2s`);
    await api.delete(`${maps}/a?timeout=2s&dryRun=All`);
    const limitsMs = seen.map(({ request }) => request.deadlineMs! - nowMs);
    expect(limitsMs).toEqual([60_000, 5_000, 60_000, 2_000]);
  });

  it('is a dry run of a deletion when its body says so', async () => {
    await api.delete(`${maps}/a`, { dryRun: ['All'] });
    await api.delete(`${maps}?labelSelector=none`);
    await api.delete(`${maps}/a`);
    expect(seen.map(({ request: { verb, dryRun } }) => [verb, dryRun])).toEqual([
      ['delete', true],
      ['delete', false],
    ]);
  });

  it('knows which part of an object it is about', async () => {
    const controllers = '/api/v1/namespaces/default/replicationcontrollers';
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    await api.post(controllers, { metadata: { name: 'rc' }, spec: { replicas: 0, template } });
    await api.patch(`${controllers}/rc/scale`, { spec: { replicas: 1 } });
    await api.patch(`${controllers}/rc/status`, { status: { replicas: 1 } });
    expect(seen.map(({ target }) => target.part)).toEqual(['main', 'scale', 'status']);
  });
});
