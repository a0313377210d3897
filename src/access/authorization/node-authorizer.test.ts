/** Proves which objects a node can reach: those that its pods name, and what their claims lead to. */
import { describe, expect, it } from 'vitest';
import type { ApiObject } from '../../api/text/object.ts';
import { asks, useRegistry, user } from './authorization.fixture.ts';
import { NodeAuthorizer } from './node-authorizer.ts';
import { NodeGraph } from './node-graph.ts';
import { RuleSet } from './rule-set.ts';

const node = user('system:node:n', 'system:nodes');

describe('a node', () => {
  const made = useRegistry();
  let authorizer: NodeAuthorizer;
  const may = (question: string, namespace?: string): boolean => {
    authorizer ??= new NodeAuthorizer(new NodeGraph(made.registry.view), () => RuleSet.of([]));
    return authorizer.decide(asks(node, question, namespace)).allowed;
  };
  const pod = (name: string, nodeName: string | undefined, spec: object, annotations = {}): Promise<void> =>
    made.put('v1', 'pods', 'x', {
      metadata: { name, annotations },
      spec: { nodeName, ...spec },
    } as ApiObject);

  it('reads what a pod names in every way there is, from the time it is bound until it is gone', async () => {
    const spec = {
      serviceAccountName: 'account',
      imagePullSecrets: [{ name: 'pull' }],
      initContainers: [
        { name: 'i', env: [{ name: 'E', valueFrom: { secretKeyRef: { name: 'env', key: 'k' } } }] },
      ],
      containers: [
        { name: 'c', envFrom: [{ secretRef: { name: 'from' } }, { configMapRef: { name: 'map' } }] },
      ],
      ephemeralContainers: [{ name: 'e', envFrom: [{ secretRef: { name: 'debug' } }] }],
      volumes: [
        { name: 'a', secret: { secretName: 'volume' } },
        {
          name: 'b',
          projected: { sources: [{ secret: { name: 'projected' } }, { configMap: { name: 'root' } }] },
        },
        { name: 'd', csi: { driver: 'd', nodePublishSecretRef: { name: 'csi' } } },
        { name: 'f', persistentVolumeClaim: { claimName: 'claim' } },
        { name: 'g', ephemeral: {} },
      ],
    };
    const secrets = ['pull', 'env', 'from', 'debug', 'volume', 'projected', 'csi'];
    const questions = [
      'get pods p',
      'get serviceaccounts account',
      'create serviceaccounts/token account',
      'get configmaps map',
      'watch configmaps root',
      'get persistentvolumeclaims claim',
      'get persistentvolumeclaims p-g',
      'patch persistentvolumeclaims/status claim',
      ...secrets.map((name) => `get secrets ${name}`),
    ];
    const answers = (): boolean[] => [...new Set(questions.map((question) => may(question, 'x')))];
    await pod('p', undefined, spec);
    expect(answers()).toEqual([false]);
    await pod('p', 'other', spec);
    expect(answers()).toEqual([false]);
    await pod('p', 'n', spec);
    expect(answers()).toEqual([true]);
    expect(may('get secrets volume', 'y')).toBe(false);
    expect(may('get secrets foreign', 'x')).toBe(false);
    await made.delete('v1', 'pods', 'x', 'p');
    await made.delete('v1', 'pods', 'x', 'p');
    await pod('p', 'other', spec);
    expect(answers()).toEqual([false]);
  });

  it('reads the volume of a claim, and its secrets, while the volume is bound to it', async () => {
    const volume = (claimRef: object | undefined): Promise<void> =>
      made.put('v1', 'persistentvolumes', '', {
        metadata: { name: 'v' },
        spec: { claimRef, csi: { driver: 'd', nodeStageSecretRef: { namespace: 'keys', name: 'stage' } } },
      } as ApiObject);
    await pod('q', 'n', { volumes: [{ name: 'f', persistentVolumeClaim: { claimName: 'data' } }] });
    await volume(undefined);
    expect(may('get persistentvolumes v')).toBe(false);
    await volume({ namespace: 'x', name: 'data' });
    expect(may('get persistentvolumes v')).toBe(true);
    expect(may('get secrets stage', 'keys')).toBe(true);
    await volume({ namespace: 'y', name: 'data' });
    expect(may('get persistentvolumes v')).toBe(false);
    expect(may('get secrets stage', 'keys')).toBe(false);
  });

  it('gets nothing by a mirror pod but the pod: its node has made it', async () => {
    const volumes = [{ name: 'a', secret: { secretName: 'wanted' } }];
    await pod('mirror', 'n', { volumes }, { 'kubernetes.io/config.mirror': 'x' });
    expect(may('get pods mirror', 'x')).toBe(true);
    expect(may('get secrets wanted', 'x')).toBe(false);
  });
});
