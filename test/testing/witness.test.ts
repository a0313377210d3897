/** Proves that a test cluster tells who asked what, and who changed an object how. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TestCluster, testCluster } from '../../src/testing/index.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await testCluster({ simulatedNodes: 1 });
});
beforeEach(() => cluster.reset());
afterAll(() => cluster.close());

const headers = { 'Content-Type': 'application/json', 'User-Agent': 'robot/1.0' };
const deployments = '/apis/apps/v1/namespaces/default/deployments';
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'web' }] },
    },
  },
};
const send = (method: string, path: string, body: unknown, type = headers['Content-Type']) =>
  fetch(cluster.url + path, {
    method,
    headers: { ...headers, 'Content-Type': type },
    body: JSON.stringify(body),
  });

describe('requests()', () => {
  it('has bodies, answers and who asked', async () => {
    await send('POST', deployments, deployment);
    await send('POST', deployments, deployment);
    await fetch(`${cluster.url}${deployments}/web`);
    const seen = cluster.requests({ kind: 'Deployment', userAgent: 'robot/*' });
    expect(seen).toMatchObject([
      { verb: 'create', method: 'POST', url: deployments, namespace: 'default', body: deployment, code: 200 },
      { verb: 'create', code: 409, error: expect.stringContaining('already exists') },
    ]);
    expect(cluster.requests({ verb: ['get', 'list'], name: 'web' })).toHaveLength(1);
    expect(cluster.requests({ kind: 'pods' })).toEqual([]);
    await cluster.settled({ timeoutMs: 60_000 });
    expect(cluster.requests({ kind: 'pods', subresource: 'status', own: true })).not.toEqual([]);
    await cluster.reset();
    expect(cluster.requests()).toEqual([]);
  });

  it('has bodies that came in pieces', async () => {
    const body = JSON.stringify({ metadata: { name: 'pieces' }, data: { text: 'x'.repeat(200_000) } });
    const pieces = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < body.length; at += 50_000)
          controller.enqueue(new TextEncoder().encode(body.slice(at, at + 50_000)));
        controller.close();
      },
    });
    await fetch(`${cluster.url}/api/v1/namespaces/default/configmaps`, {
      method: 'POST',
      headers,
      body: pieces,
      duplex: 'half',
    } as RequestInit);
    expect(cluster.requests({ kind: 'ConfigMap' })[0]!.body).toEqual(JSON.parse(body));
  });

  it('refuses a filter that there is not', () => {
    expect(() => cluster.requests({ agent: 'x' } as never)).toThrow('cannot be matched by "agent"');
  });
});

describe('history()', () => {
  it('has every version, with its changes and its writer', async () => {
    await send('POST', deployments, deployment);
    await cluster.settled({ timeoutMs: 60_000 });
    await send('PATCH', `${deployments}/web`, { spec: { replicas: 2 } }, 'application/merge-patch+json');
    await cluster.settled({ timeoutMs: 60_000 });
    await fetch(`${cluster.url}${deployments}/web`, { method: 'DELETE', headers });
    await cluster.settled({ timeoutMs: 60_000 });
    const versions = cluster.history('Deployment/web');
    expect(versions[0]).toMatchObject({
      type: 'ADDED',
      manager: 'robot',
      verb: 'create',
      user: 'system:unsecured',
      changes: [],
    });
    const scaled = versions.find(({ changes }) => changes.some(({ path }) => path === 'spec.replicas'))!;
    expect(scaled).toMatchObject({ type: 'MODIFIED', manager: 'robot', verb: 'patch' });
    expect(scaled.changes).toContainEqual({ path: 'spec.replicas', before: 1, after: 2 });
    const byController = versions.filter(({ manager }) => manager === 'kube-controller-manager');
    expect(byController.length).toBeGreaterThan(0);
    expect(byController[0]!.user).toBe('system:serviceaccount:kube-system:deployment-controller');
    expect(versions.at(-1)).toMatchObject({ type: 'DELETED', object: undefined });
  });
});

describe('timeline()', () => {
  it('tells people what happened, in order', async () => {
    await send('POST', deployments, deployment);
    await cluster.settled({ timeoutMs: 60_000 });
    await send('PATCH', `${deployments}/web`, { spec: { replicas: 2 } }, 'application/merge-patch+json');
    await cluster.settled({ timeoutMs: 60_000 });
    expect(cluster.events('Deployment/web').map(({ reason }) => reason)).toContain('ScalingReplicaSet');
    const text = cluster.timeline('Deployment/web');
    expect(text).toMatch(/^Deployment default\/web\n/);
    expect(text).toMatch(/ADDED by robot \(system:unsecured, create\), version \d+/);
    expect(text).toMatch(/PATCH \S+\/web by robot\/1\.0: 200/);
    expect(text).toMatch(/spec\.replicas: 1 → 2/);
    expect(text).toMatch(/event Normal ScalingReplicaSet of deployment-controller: Scaled up/);
    expect(cluster.timeline('Pod/nobody')).toBe('Pod default/nobody: nothing has happened to it');
  });
});
