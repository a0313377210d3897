/** Proves that nodes of this process identify themselves in what they write and in the audit log, as other clients do. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { namespaceLifecycle } from '../../registry/admission/namespace-lifecycle.ts';
import type { Cluster } from '../cluster.ts';
import { start } from '../start.ts';

let cluster: Cluster | undefined;

afterEach(async () => {
  await cluster?.close();
  vi.restoreAllMocks();
});

it('writes of nodes have the field manager kubelet', async () => {
  const managers = new Map<string, Set<string>>();
  const { validate } = namespaceLifecycle;
  vi.spyOn(namespaceLifecycle, 'validate').mockImplementation((registry, admission) => {
    const { request, target } = admission;
    const { resource } = target.kind;
    if (request.user.name === 'system:unsecured')
      managers.set(resource, (managers.get(resource) ?? new Set()).add(request.fieldManager));
    return validate!(registry, admission);
  });
  cluster = await start({ store: 'memory', controllers: false, simulatedNodes: 1 });
  await cluster.nodesReady;
  expect(managers.get('nodes')).toEqual(new Set(['kubelet']));
  expect(managers.get('leases')).toEqual(new Set(['kubelet']));
});

it('requests of nodes are counted and audited as those of other clients of this machine', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-local-nodes-'));
  try {
    const auditLog = path.join(folder, 'audit.log');
    cluster = await start({ store: 'memory', controllers: false, simulatedNodes: 1, auditLog });
    await cluster.nodesReady;
    const metrics = await (await fetch(`${cluster.url}/metrics`)).text();
    await cluster.close();
    const lines = readFileSync(auditLog, 'utf8').trim().split('\n');
    const made = lines
      .map((line) => JSON.parse(line) as { verb: string; objectRef?: { resource: string } })
      .filter(({ verb, objectRef }) => verb === 'create' && objectRef?.resource === 'nodes');
    expect(made).toMatchObject([
      {
        stage: 'ResponseComplete',
        requestURI: '/api/v1/nodes',
        user: { username: 'system:unsecured' },
        sourceIPs: ['127.0.0.1'],
        userAgent: expect.stringMatching(/^kubelet\//),
        responseStatus: { code: 200 },
      },
    ]);
    const counted = metrics
      .split('\n')
      .filter((line) => /^apiserver_request_total.*resource="nodes"/.test(line));
    expect(counted.filter((line) => line.includes('verb="POST"'))).toEqual([expect.stringMatching(/ 1$/)]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
