/** Autoscalers in their three versions, over HTTP: the older ones keep fields that only the newest has. */
import { describe, expect, test } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { made, placeOf, read, tableAccept } from '../support/versions.ts';

const rc = (name: string) => ({ kind: 'ReplicationController', name });

describe('autoscalers', () => {
  const client = useCluster({ controllers: false });
  const versions = ['autoscaling/v2', 'autoscaling/v1', 'extensions/v1beta1'];
  const [v2, v1, extensions] = versions.map((version) => placeOf(version, 'horizontalpodautoscalers')) as [
    string,
    string,
    string,
  ];
  const memory = {
    type: 'Resource',
    resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 70 } },
  };
  const cpu = (averageUtilization: number) => ({
    type: 'Resource',
    resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
  });

  test('made in any version are the same in all', async () => {
    const specs: [string, Json][] = [
      [v2, { scaleTargetRef: rc('web'), metrics: [cpu(60)] }],
      [v1, { scaleTargetRef: rc('web'), targetCPUUtilizationPercentage: 60 }],
      [extensions, { scaleRef: rc('web'), cpuUtilization: { targetPercentage: 60 } }],
    ];
    for (const [i, [path, spec]] of specs.entries())
      await made(client, path, { metadata: { name: `same-${i}` }, spec: { ...spec, maxReplicas: 5 } });
    for (let i = 0; i < specs.length; i++) {
      expect((await read(client, `${v2}/same-${i}`)).spec).toEqual({
        scaleTargetRef: rc('web'),
        minReplicas: 1,
        maxReplicas: 5,
        metrics: [cpu(60)],
      });
      expect((await read(client, `${v1}/same-${i}`)).spec).toEqual({
        scaleTargetRef: rc('web'),
        minReplicas: 1,
        maxReplicas: 5,
        targetCPUUtilizationPercentage: 60,
      });
      expect((await read(client, `${extensions}/same-${i}`)).spec).toEqual({
        scaleRef: { ...rc('web'), subresource: 'scale' },
        minReplicas: 1,
        maxReplicas: 5,
        cpuUtilization: { targetPercentage: 60 },
      });
    }
  });

  test('get a target of 80 % in any version', async () => {
    for (const [i, path] of [v2, v1, extensions].entries()) {
      const reference = path === extensions ? { scaleRef: rc('x') } : { scaleTargetRef: rc('x') };
      await made(client, path, {
        metadata: { name: `default-${i}` },
        spec: { ...reference, maxReplicas: 2 },
      });
      expect((await read(client, `${v2}/default-${i}`)).spec.metrics).toEqual([cpu(80)]);
      const dry = await client.post(`${path}?dryRun=All`, {
        metadata: { name: 'dry' },
        spec: { ...reference, maxReplicas: 2 },
      });
      expect(JSON.stringify(dry.body.spec)).toContain('80');
    }
  });

  test('keep through writes in older versions what only autoscaling/v2 knows', async () => {
    const behavior = { scaleDown: { stabilizationWindowSeconds: 60 } };
    const before = await made(client, v2, {
      metadata: { name: 'rich' },
      spec: { scaleTargetRef: rc('web'), maxReplicas: 5, metrics: [memory, cpu(50)], behavior },
    });
    const status = {
      ...before.status,
      currentReplicas: 2,
      desiredReplicas: 3,
      conditions: [{ type: 'AbleToScale', status: 'True', lastTransitionTime: null }],
      currentMetrics: [
        { type: 'Resource', resource: { name: 'memory', current: { averageUtilization: 9 } } },
      ],
    };
    expect((await client.put(`${v2}/rich/status`, { ...before, status })).status).toBe(200);
    for (const [i, path] of [v1, extensions].entries()) {
      const old = await read(client, `${path}/rich`);
      expect(old.status).toEqual({ currentReplicas: 2, desiredReplicas: 3 });
      if (path === v1) old.spec.targetCPUUtilizationPercentage = 41;
      else old.spec.cpuUtilization.targetPercentage = 42;
      const put = await client.put(`${path}/rich`, old);
      expect(put.status, put.text).toBe(200);
      const after = await read(client, `${v2}/rich`);
      expect(after.spec).toEqual({ ...before.spec, metrics: [memory, cpu(41 + i)] });
      expect(after.status).toEqual(status);
    }
    const measured = await client.patch(`${v1}/rich/status`, {
      status: { currentCPUUtilizationPercentage: 33 },
    });
    expect(measured.status, measured.text).toBe(200);
    expect((await read(client, `${v2}/rich`)).status).toEqual({
      ...status,
      currentMetrics: [
        ...status.currentMetrics,
        { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 33 } } },
      ],
    });
    expect((await read(client, `${extensions}/rich`)).status.currentCPUUtilizationPercentage).toBe(33);
  });

  test('that go by another metric get no CPU target from a write in an older version', async () => {
    await made(client, v2, {
      metadata: { name: 'memory' },
      spec: { scaleTargetRef: rc('web'), maxReplicas: 5, metrics: [memory] },
    });
    for (const path of [v1, extensions]) {
      const patched = await client.patch(`${path}/memory`, { metadata: { labels: { by: 'patch' } } });
      expect(patched.status, patched.text).toBe(200);
      const old = await read(client, `${path}/memory`);
      expect(
        (await client.put(`${path}/memory`, { ...old, spec: { ...old.spec, maxReplicas: 6 } })).status,
      ).toBe(200);
      expect((await read(client, `${v2}/memory`)).spec).toMatchObject({ maxReplicas: 6, metrics: [memory] });
    }
  });

  test('are held to the rules of the version asked, in its words', async () => {
    const spec = { scaleTargetRef: rc('x'), scaleRef: rc('x'), maxReplicas: 1 };
    const message = async (path: string, more: object) =>
      (await client.post(path, { metadata: { name: 'bad' }, spec: { ...spec, ...more } })).body.message;
    expect(await message(v2, { metrics: [cpu(0)] })).toContain(
      'HorizontalPodAutoscaler.autoscaling "bad" is invalid: spec.metrics[0].resource.target.averageUtilization: ',
    );
    expect(await message(v1, { targetCPUUtilizationPercentage: 0 })).toContain(
      'HorizontalPodAutoscaler.autoscaling "bad" is invalid: spec.targetCPUUtilizationPercentage: ',
    );
    expect(await message(extensions, { cpuUtilization: {} })).toContain(
      'HorizontalPodAutoscaler.extensions "bad" is invalid: spec.cpuUtilization.targetPercentage: ',
    );
  });

  test('that name no group may stay as they are in newer versions', async () => {
    const scaleRef = { kind: 'Deployment', name: 'web' };
    await made(client, extensions, { metadata: { name: 'groupless' }, spec: { scaleRef, maxReplicas: 1 } });
    for (const path of [v2, v1]) {
      const patched = await client.patch(`${path}/groupless`, { spec: { maxReplicas: 7 } });
      expect(patched.status, patched.text).toBe(200);
      const changed = await client.patch(`${path}/groupless`, {
        spec: { scaleTargetRef: { kind: 'Other' } },
      });
      expect(changed.body.message).toContain(
        'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must',
      );
    }
  });

  test('are shown in tables, listed and watched in each version', async () => {
    const { resourceVersion } = (await read(client, v2)).metadata;
    for (const [i, path] of [v2, v1, extensions].entries()) {
      const table = (await client.get(`${path}/same-1`, tableAccept)).body;
      expect(table.rows[0].cells.slice(0, 6)).toEqual([
        'same-1',
        'ReplicationController/web',
        'cpu: <unknown>/60%',
        '1',
        5,
        0,
      ]);
      const list = await read(client, path);
      expect([list.kind, list.apiVersion]).toEqual(['HorizontalPodAutoscalerList', versions[i]]);
      const watch = await client.watch(`${path}?watch=true&resourceVersion=${resourceVersion}`);
      if (i === 0) await client.patch(`${v1}/same-1`, { metadata: { labels: { watched: 'yes' } } });
      const { type, object } = await watch.next();
      expect([type, object.apiVersion, object.metadata.labels]).toEqual([
        'MODIFIED',
        versions[i],
        { watched: 'yes' },
      ]);
      watch.close();
    }
  });

  test('are deleted as a collection in any version', async () => {
    expect((await client.delete(v1)).body).toMatchObject({ apiVersion: 'autoscaling/v1' });
    expect((await read(client, extensions)).items).toEqual([]);
  });
});
