/** Autoscalers and the metrics API, with the usage that simulated pods report. */
import { describe, expect, it } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { until, untilList } from './objects.ts';

const base = '/api/v1/namespaces/default';
const autoscalers = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';

const api = useCluster({ simulatedNodes: 1, controllerSettings: { autoscalerSyncMs: 200 } });

const controller = (name: string, milliCpu: number, replicas: number): Json => ({
  metadata: { name },
  spec: {
    replicas,
    selector: { app: name },
    template: {
      metadata: {
        labels: { app: name },
        annotations: { 'wherry.dev/simulated-milli-cpu': String(milliCpu) },
      },
      spec: { containers: [{ name: 'c', image: 'x', resources: { requests: { cpu: '100m' } } }] },
    },
  },
});

const autoscaler = (name: string, spec: object = {}): Json => ({
  metadata: { name },
  spec: {
    scaleTargetRef: { apiVersion: 'v1', kind: 'ReplicationController', name },
    minReplicas: 1,
    maxReplicas: 3,
    metrics: [
      {
        type: 'Resource',
        resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
      },
    ],
    ...spec,
  },
});

const condition = (object: Json, type: string): Json =>
  object.status?.conditions?.find((one: Json) => one.type === type);

const utilization = (object: Json): number =>
  object.status.currentMetrics?.[0]?.resource.current.averageUtilization ?? 0;

describe('an autoscaler', () => {
  // A usage of 200m with a request of 100m is 200 %, four times the target: scales to the maximum.
  it('adds replicas where pods are too busy', async () => {
    await api.post(`${base}/replicationcontrollers`, controller('busy', 200, 1));
    await untilList(
      api,
      `${base}/pods?labelSelector=app%3Dbusy`,
      (items) => items[0]?.status.phase === 'Running',
    );
    expect((await api.post(autoscalers, autoscaler('busy'))).status).toBe(200);
    await until(api, `${base}/replicationcontrollers/busy`, (rc) => rc.spec.replicas === 3);
    // Measurements of a pod's first moments are inaccurate.
    const scaled = await until(
      api,
      `${autoscalers}/busy`,
      (one) => condition(one, 'ScalingLimited')?.reason === 'TooManyReplicas' && utilization(one) > 150,
    );
    expect(scaled.status.desiredReplicas).toBe(3);
    expect(scaled.status.lastScaleTime).toBeDefined();
    expect(condition(scaled, 'ScalingLimited')).toMatchObject({ status: 'True', reason: 'TooManyReplicas' });
    expect(condition(scaled, 'ScalingActive')).toMatchObject({ status: 'True', reason: 'ValidMetricFound' });
    await untilList(api, `${base}/events`, (items) =>
      items.some(
        ({ message }) =>
          message === 'New size: 3; reason: cpu resource utilization (percentage of request) above target',
      ),
    );
    const v1 = (await api.get('/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers/busy')).body;
    expect(v1.status.currentCPUUtilizationPercentage).toBeGreaterThan(150);
  });

  it('knows the pods of a deployment, whose selector has expressions', async () => {
    const { spec, metadata } = controller('deployed', 200, 1);
    const selector = { matchExpressions: [{ key: 'app', operator: 'In', values: ['deployed'] }] };
    const made = await api.post('/apis/apps/v1/namespaces/default/deployments', {
      metadata,
      spec: { ...spec, selector },
    });
    expect(made.status, made.text).toBe(200);
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'deployed' };
    expect((await api.post(autoscalers, autoscaler('deployed', { scaleTargetRef }))).status).toBe(200);
    await until(
      api,
      '/apis/apps/v1/namespaces/default/deployments/deployed',
      ({ status }) => status.availableReplicas === 3,
    );
  });

  it('does not take a kind of another group for one that has its name', async () => {
    const scaleTargetRef = { apiVersion: 'example.com/v1', kind: 'Deployment', name: 'deployed' };
    expect((await api.post(autoscalers, autoscaler('strange', { scaleTargetRef }))).status).toBe(200);
    const failed = await until(api, `${autoscalers}/strange`, (one) => condition(one, 'AbleToScale'));
    expect(condition(failed, 'AbleToScale')).toMatchObject({ status: 'False', reason: 'FailedGetScale' });
  });

  it('heeds its range whatever is measured', async () => {
    await api.post(`${base}/replicationcontrollers`, controller('many', 50, 6));
    await api.post(autoscalers, autoscaler('many', { maxReplicas: 2 }));
    await until(api, `${base}/replicationcontrollers/many`, (rc) => rc.spec.replicas === 2);
    await untilList(api, `${base}/events`, (items) =>
      items.some(
        ({ message }) => message === 'New size: 2; reason: Current number of replicas above Spec.MaxReplicas',
      ),
    );
  });

  it('says what it cannot find, and what it does not do', async () => {
    await api.post(autoscalers, autoscaler('nobody'));
    const lost = await until(api, `${autoscalers}/nobody`, (one) => Boolean(condition(one, 'AbleToScale')));
    expect(condition(lost, 'AbleToScale')).toMatchObject({ status: 'False', reason: 'FailedGetScale' });
    await api.post(`${base}/replicationcontrollers`, controller('idle', 0, 0));
    await api.post(autoscalers, autoscaler('idle'));
    const idle = await until(api, `${autoscalers}/idle`, (one) => Boolean(condition(one, 'ScalingActive')));
    expect(condition(idle, 'ScalingActive')).toMatchObject({ status: 'False', reason: 'ScalingDisabled' });
  });
});

describe('the metrics API', () => {
  const metrics = '/apis/metrics.k8s.io/v1beta1';

  it('is found by discovery', async () => {
    const { groups } = (await api.get('/apis')).body;
    expect(groups.map(({ name }: Json) => name)).toContain('metrics.k8s.io');
    const { resources } = (await api.get(metrics)).body;
    expect(resources.map(({ name, kind }: Json) => `${name} ${kind}`)).toEqual([
      'nodes NodeMetrics',
      'pods PodMetrics',
    ]);
  });

  it('tells what nodes and pods use', async () => {
    const nodes = (await api.get(`${metrics}/nodes`)).body;
    expect(nodes).toMatchObject({ kind: 'NodeMetricsList', items: [{ metadata: { name: 'simulated-1' } }] });
    expect(nodes.items[0].usage.cpu).toMatch(/^\d+n$/);
    const { items } = (await api.get(`${metrics}/namespaces/default/pods?labelSelector=app%3Dbusy`)).body;
    const { name } = items[0].metadata;
    expect(name).toMatch(/^busy-/);
    const one = (await api.get(`${metrics}/namespaces/default/pods/${name}`)).body;
    expect(one).toMatchObject({ kind: 'PodMetrics', containers: [{ name: 'c' }] });
    const milliCpu = Number.parseInt(one.containers[0].usage.cpu, 10) / 1e6;
    expect(Math.abs(milliCpu - 200)).toBeLessThan(100);
  });

  it('refuses what it does not have', async () => {
    expect((await api.get(`${metrics}/namespaces/default/pods/none`)).status).toBe(404);
    expect((await api.get(`${metrics}/volumes`)).status).toBe(404);
    expect((await api.post(`${metrics}/nodes`, {})).status).toBe(405);
  });
});
