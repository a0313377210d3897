/** Resize of pods: other amounts of cpu and memory, within limits and quotas. Kinds contract, sections 1 and 19. */
import { describe, expect, it } from 'vitest';
import { until } from '../controllers/objects.ts';
import { type Json, jsonPatch, mergePatch, strategicPatch, useCluster } from '../support/http.ts';
import { expectFailure, expectInvalid } from './failure.ts';
import { created, pod, pods } from './objects.ts';

const client = useCluster({ controllers: ['namespace', 'serviceaccount', 'resourcequota'] });

const amounts = (cpu: string) => ({ requests: { cpu, memory: '64Mi' } });
const path = (name: string, home = pods) => `${home}/${name}/resize`;
const sized = (name: string, cpu = '100m', home = pods): Promise<Json> =>
  created(
    client,
    home,
    pod(name, {}, { containers: [{ name: 'c', image: 'i:1', resources: amounts(cpu) }] }),
  );
const resize = (name: string, resources: Json, home = pods) =>
  client.patch(path(name, home), { spec: { containers: [{ name: 'c', resources }] } }, strategicPatch);

describe('a resize', () => {
  it('is promised in discovery', async () => {
    const { resources } = (await client.get('/api/v1')).body;
    expect(resources.find((one: Json) => one.name === 'pods/resize')).toEqual({
      name: 'pods/resize',
      singularName: '',
      namespaced: true,
      kind: 'Pod',
      verbs: ['get', 'patch', 'update'],
    });
  });

  it('by a patch changes resources alone, and counts up the generation', async () => {
    await sized('patched');
    const reply = await client.patch(
      path('patched'),
      {
        metadata: { labels: { ignored: 'yes' } },
        spec: {
          activeDeadlineSeconds: 1,
          containers: [{ name: 'c', image: 'other:1', resources: amounts('200m') }],
        },
      },
      strategicPatch,
    );
    expect(reply.status, reply.text).toBe(200);
    const { metadata, spec } = reply.body;
    expect(metadata.generation).toBe(2);
    expect(metadata.labels).toBeUndefined();
    expect(spec.activeDeadlineSeconds).toBeUndefined();
    expect(spec.containers).toMatchObject([{ image: 'i:1', resources: amounts('200m') }]);
    expect((await client.get(path('patched'))).body).toEqual(reply.body);
    const same = await resize('patched', amounts('200m'));
    expect(same.body.metadata).toEqual(metadata);
    const pointer = '/spec/containers/0/resources/requests/cpu';
    const json = await client.patch(
      path('patched'),
      [{ op: 'replace', path: pointer, value: '1' }],
      jsonPatch,
    );
    expect(json.body.metadata.generation).toBe(3);
  });

  it('by an update needs the newest version, if any', async () => {
    const object = await sized('updated');
    object.spec.containers[0].resources = amounts('300m');
    const { body } = await client.put(path('updated'), object);
    expect(body.spec.containers[0].resources).toEqual(amounts('300m'));
    expect((await client.put(path('updated'), object)).status).toBe(409);
    delete object.metadata.resourceVersion;
    expect((await client.put(path('updated'), object)).status).toBe(200);
  });

  it('is refused for what may not change, and is the only way', async () => {
    await sized('fixed');
    expectInvalid(
      await resize('fixed', { ...amounts('100m'), limits: { cpu: '100m', memory: '64Mi' } }),
      'Pod',
      'fixed',
      'spec',
      'Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing',
    );
    expectInvalid(
      await resize('fixed', { requests: { 'ephemeral-storage': '1Gi' } }),
      'Pod',
      'fixed',
      'spec',
      'Forbidden: only cpu and memory resources are mutable',
    );
    const main = await client.patch(
      `${pods}/fixed`,
      { spec: { containers: [{ name: 'c', resources: amounts('1') }] } },
      strategicPatch,
    );
    expect(main.status).toBe(422);
    expect((await resize('none', amounts('1'))).status).toBe(404);
    expect((await client.delete(path('fixed'))).status).toBe(405);
    expect((await client.post(path('fixed'), {})).status).toBe(405);
  });

  it('does nothing in a dry run', async () => {
    const { metadata } = await sized('dry');
    const dry = await client.patch(
      `${path('dry')}?dryRun=All`,
      { spec: { containers: [{ name: 'c', image: 'i:1', resources: amounts('200m') }] } },
      mergePatch,
    );
    expect(dry.body.spec.containers[0].resources).toEqual(amounts('200m'));
    expect((await client.get(`${pods}/dry`)).body.metadata).toEqual(metadata);
  });

  it('keeps to quotas', async () => {
    const space = '/api/v1/namespaces/quoted';
    await created(client, '/api/v1/namespaces', { metadata: { name: 'quoted' } });
    await created(client, `${space}/resourcequotas`, {
      metadata: { name: 'q' },
      spec: { hard: { 'requests.cpu': '500m' } },
    });
    const used = (cpu: string) =>
      until(client, `${space}/resourcequotas/q`, ({ status }) => status.used?.['requests.cpu'] === cpu);
    await used('0');
    const home = `${space}/pods`;
    await sized('one', '200m', home);
    await sized('two', '200m', home);
    expectFailure(
      await resize('two', amounts('400m'), home),
      403,
      'Forbidden',
      'pods "two" is forbidden: exceeded quota: q, requested: requests.cpu=200m, used: requests.cpu=400m, limited: requests.cpu=500m',
      { name: 'two', kind: 'pods' },
    );
    expect((await resize('two', amounts('300m'), home)).status).toBe(200);
    await used('500m');
    expect((await resize('one', amounts('100m'), home)).status).toBe(200);
    await used('400m');
  });

  it('keeps to limit ranges', async () => {
    const space = '/api/v1/namespaces/ranged';
    await created(client, '/api/v1/namespaces', { metadata: { name: 'ranged' } });
    const home = `${space}/pods`;
    const limited = (cpu: string) => ({ ...amounts('100m'), limits: { cpu } });
    await created(
      client,
      home,
      pod('p', {}, { containers: [{ name: 'c', image: 'i:1', resources: limited('200m') }] }),
    );
    await created(client, `${space}/limitranges`, {
      metadata: { name: 'l' },
      spec: { limits: [{ type: 'Container', max: { cpu: '300m' } }] },
    });
    expect((await resize('p', limited('300m'), home)).status).toBe(200);
    expectFailure(
      await resize('p', limited('301m'), home),
      403,
      'Forbidden',
      'pods "p" is forbidden: maximum cpu usage per Container is 300m, but limit is 301m',
      { name: 'p', kind: 'pods' },
    );
  });
});
