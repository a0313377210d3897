/** Metadata: what the server sets, what clients may set, and how a wrong value is refused. Wire, section 5. */
import { describe, expect, it } from 'vitest';
import { type Json, type Reply, useCluster } from '../http.ts';
import { expectFailure } from './failure.ts';
import {
  configMap,
  configMaps,
  controller,
  controllers,
  created,
  currentVersion,
  jobs,
  pod,
  pods,
} from './objects.ts';

const client = useCluster();

describe('what the server sets', () => {
  it('replaces uid, creationTimestamp and selfLink, and drops the marks of a deletion', async () => {
    const { metadata } = await created(
      client,
      configMaps,
      configMap('c', undefined, {
        uid: 'mine',
        creationTimestamp: '2001-01-01T00:00:00Z',
        selfLink: '/mine',
        deletionTimestamp: '2001-01-01T00:00:00Z',
        deletionGracePeriodSeconds: 5,
      }),
    );
    expect(metadata.uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Math.abs(Date.parse(metadata.creationTimestamp) - Date.now())).toBeLessThan(60_000);
    expect(metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(metadata.selfLink).toBe(`${configMaps}/c`);
    expect(metadata).not.toHaveProperty('deletionTimestamp');
    expect(metadata).not.toHaveProperty('deletionGracePeriodSeconds');
  });

  it('keeps them on an update', async () => {
    const { metadata } = await created(client, configMaps, configMap('kept'));
    const reply = await client.put(
      `${configMaps}/kept`,
      configMap('kept', { a: '2' }, { creationTimestamp: '2001-01-01T00:00:00Z', selfLink: '/mine' }),
    );
    expect(reply.body.metadata).toMatchObject({
      uid: metadata.uid,
      creationTimestamp: metadata.creationTimestamp,
      selfLink: metadata.selfLink,
    });
  });

  it('takes the namespace from the path, and drops it for a cluster-scoped kind', async () => {
    expect((await created(client, configMaps, configMap('placed'))).metadata.namespace).toBe('default');
    const { metadata } = await created(client, '/api/v1/nodes', {
      metadata: { name: 'n', namespace: 'default' },
    });
    expect(metadata).not.toHaveProperty('namespace');
    expect(metadata.selfLink).toBe('/api/v1/nodes/n');
  });

  it('puts the request path into the selfLink of a list', async () => {
    expect((await client.get(`${configMaps}?limit=1`)).body.metadata.selfLink).toBe(configMaps);
    expect((await client.get('/api/v1/configmaps')).body.metadata.selfLink).toBe('/api/v1/configmaps');
  });

  it('drops managedFields', async () => {
    const { metadata } = await created(
      client,
      configMaps,
      configMap('unmanaged', undefined, { managedFields: [{ manager: 'me', operation: 'Update' }] }),
    );
    expect(metadata).not.toHaveProperty('managedFields');
  });
});

describe('resourceVersion', () => {
  it('is one counter for all kinds, and the list shows it', async () => {
    const first = await created(client, configMaps, configMap('v1'));
    const second = await created(client, '/api/v1/nodes', { metadata: { name: 'v2' } });
    expect(Number(second.metadata.resourceVersion)).toBeGreaterThan(Number(first.metadata.resourceVersion));
    expect(await currentVersion(client)).toBeGreaterThanOrEqual(Number(second.metadata.resourceVersion));
    expect(first.metadata.resourceVersion).toMatch(/^[1-9]\d*$/);
  });

  it('does not move when nothing changes, and nobody is told', async () => {
    const { metadata } = await created(client, configMaps, configMap('still'));
    const watch = await client.watch(`${configMaps}?watch=true&resourceVersion=${metadata.resourceVersion}`);
    const put = await client.put(`${configMaps}/still`, configMap('still'));
    const patch = await client.patch(`${configMaps}/still`, { data: { a: '1' } });
    for (const reply of [put, patch]) {
      expect(reply.status).toBe(200);
      expect(reply.body.metadata.resourceVersion).toBe(metadata.resourceVersion);
    }
    await client.patch(`${configMaps}/still`, { data: { a: '2' } });
    const event = await watch.next();
    expect(event.object.data).toEqual({ a: '2' });
    watch.close();
  });

  it('of a deletion is in the DELETED event', async () => {
    const { metadata } = await created(client, configMaps, configMap('fleeting'));
    const watch = await client.watch(`${configMaps}?watch=true&resourceVersion=${metadata.resourceVersion}`);
    await client.delete(`${configMaps}/fleeting`);
    const event = await watch.next();
    expect(event.type).toBe('DELETED');
    expect(Number(event.object.metadata.resourceVersion)).toBeGreaterThan(Number(metadata.resourceVersion));
    watch.close();
  });
});

describe('generation', () => {
  it('counts changes of the spec, and cannot be set', async () => {
    const { metadata } = await created(client, controllers, {
      ...controller('counted'),
      metadata: { name: 'counted', generation: 7 },
    });
    expect(metadata.generation).toBe(1);
    const path = `${controllers}/counted`;
    const scaled = await client.patch(path, {
      metadata: { generation: 9 },
      spec: { replicas: 0, minReadySeconds: 1 },
    });
    expect(scaled.body.metadata.generation).toBe(2);
    const labelled = await client.patch(path, { metadata: { labels: { a: 'b' } } });
    expect(labelled.body.metadata.generation).toBe(2);
    const status = await client.patch(`${path}/status`, { status: { observedGeneration: 1 } });
    expect(status.body.metadata.generation).toBe(2);
  });

  it('is left as it was sent for kinds that do not count', async () => {
    const { metadata } = await created(client, configMaps, configMap('free', undefined, { generation: 5 }));
    expect(metadata.generation).toBe(5);
  });
});

describe('generateName', () => {
  it('is a prefix for five letters or digits', async () => {
    const { metadata } = await created(client, configMaps, { metadata: { generateName: 'made-' } });
    expect(metadata.name).toMatch(/^made-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect(metadata.generateName).toBe('made-');
  });

  it('is cut to 58 characters', async () => {
    const { metadata } = await created(client, configMaps, { metadata: { generateName: 'x'.repeat(80) } });
    expect(metadata.name).toHaveLength(63);
  });

  it('yields to a name', async () => {
    const { metadata } = await created(client, configMaps, {
      metadata: { name: 'named', generateName: 'made-' },
    });
    expect(metadata).toMatchObject({ name: 'named', generateName: 'made-' });
  });

  it('is checked as a name is, and both are told of', async () => {
    const reply = await client.post(configMaps, { metadata: { generateName: 'A_' } });
    expect(reply.status).toBe(422);
    expect(reply.body.details.causes.map((cause: Json) => cause.field)).toEqual([
      'metadata.generateName',
      'metadata.name',
    ]);
  });
});

describe('generateName, when every name is taken', () => {
  const unlucky = useCluster({ chance: { randomBelow: () => 0 } });

  it('gives up after some tries', async () => {
    const first = await unlucky.post(configMaps, { metadata: { generateName: 'made-' } });
    expect(first.body.metadata.name).toBe('made-bbbbb');
    const second = await unlucky.post(configMaps, { metadata: { generateName: 'made-' } });
    expectFailure(
      second,
      409,
      'AlreadyExists',
      'configmaps "made-bbbbb" already exists, the server was not able to generate a unique name for the object',
      { name: 'made-bbbbb', kind: 'configmaps', retryAfterSeconds: 1 },
    );
    expect(second.headers['retry-after']).toBe('1');
  });
});

// Refusals

/** That a create or update was refused for one value of a field. */
function expectInvalid(reply: Reply, kind: string, name: string, field: string, text: string): void {
  expectFailure(reply, 422, 'Invalid', `${kind} "${name}" is invalid: ${field}: ${text}`, {
    ...(name ? { name } : {}),
    ...(kind.includes('.') ? { group: kind.split('.')[1] } : {}),
    kind: kind.split('.')[0],
    causes: [
      {
        reason: text.startsWith('Required')
          ? 'FieldValueRequired'
          : text.startsWith('Forbidden')
            ? 'FieldValueForbidden'
            : text.startsWith('Too long')
              ? 'FieldValueTooLong'
              : 'FieldValueInvalid',
        message: text,
        field,
      },
    ],
  });
}

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

describe('names', () => {
  it('are subdomains', async () => {
    expectInvalid(
      await client.post(configMaps, configMap('A_b')),
      'ConfigMap',
      'A_b',
      'metadata.name',
      `Invalid value: "A_b": ${subdomain}`,
    );
    const long = 'x'.repeat(254);
    expectInvalid(
      await client.post(configMaps, configMap(long)),
      'ConfigMap',
      long,
      'metadata.name',
      `Invalid value: "${long}": must be no more than 253 characters`,
    );
    expect((await client.post(configMaps, configMap('x'.repeat(253)))).status).toBe(200);
  });

  it('of another group are told with it', async () => {
    const reply = await client.post(jobs, { metadata: { name: 'A_b' } });
    expect(reply.body.message).toContain('Job.extensions "A_b" is invalid: ');
    expect(reply.body.details).toMatchObject({ name: 'A_b', group: 'extensions', kind: 'Job' });
  });

  it('of namespaces are labels', async () => {
    const refuse = async (name: string, text: string) =>
      expectInvalid(
        await client.post('/api/v1/namespaces', { metadata: { name } }),
        'Namespace',
        name,
        'metadata.name',
        `Invalid value: "${name}": ${text}`,
      );
    await refuse('A_b', label);
    await refuse('a.b', 'must not contain dots');
    await refuse('x'.repeat(64), 'must be no more than 63 characters');
  });

  it('of services are labels, a leading digit allowed', async () => {
    const services = '/api/v1/namespaces/default/services';
    const service = (name: string) => ({ metadata: { name }, spec: { ports: [{ port: 80 }] } });
    expect((await client.post(services, service('1web'))).status).toBe(200);
    const reply = await client.post(services, service('a.b'));
    expect(reply.status).toBe(422);
    expect(reply.body.details.causes[0].field).toBe('metadata.name');
  });

  it('of events are anything that fits into a path', async () => {
    const events = '/api/v1/namespaces/default/events';
    const event = (name: string) => ({ metadata: { name }, involvedObject: { namespace: 'default' } });
    expect((await client.post(events, event('Odd_Name:1'))).status).toBe(200);
    for (const [name, text] of [
      ['a/b', "may not contain '/'"],
      ['a%b', "may not contain '%'"],
      ['.', "may not be '.'"],
      ['..', "may not be '..'"],
    ])
      expectInvalid(
        await client.post(events, event(name!)),
        'Event',
        name!,
        'metadata.name',
        `Invalid value: "${name}": ${text}`,
      );
  });

  it('in a path are checked for what no name may hold', async () => {
    const bad = await client.get(`${configMaps}/a%25b`);
    expectFailure(bad, 400, 'BadRequest', 'Name parameter invalid: "a%b": may not contain \'%\'');
    const odd = await client.get(`${configMaps}/A_b`);
    expectFailure(odd, 404, 'NotFound', 'configmaps "A_b" not found', { name: 'A_b', kind: 'configmaps' });
  });

  it('are required', async () => {
    expectInvalid(
      await client.post(configMaps, { metadata: {} }),
      'ConfigMap',
      '',
      'metadata.name',
      'Required value: name or generateName is required',
    );
  });
});

describe('labels and annotations', () => {
  const namePart =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  // Section 5.5 calls it a qualified name; 1.36, which section 7.3 quotes, a valid label key.
  const qualified =
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
  const value =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

  it('may have a prefix, and empty values', async () => {
    const labels = { 'example.com/Name_1.x': '', a: '1', B: 'Value_2' };
    const { metadata } = await created(
      client,
      configMaps,
      configMap('labelled', undefined, { labels, annotations: { ...labels, free: '\u2028 any {text}' } }),
    );
    expect(metadata.labels).toEqual(labels);
    expect(metadata.annotations.free).toBe('\u2028 any {text}');
  });

  const badKeys: [string, string][] = [
    ['-a', namePart],
    ['a b', namePart],
    ['x/'.concat('y'.repeat(64)), 'name part must be no more than 63 characters'],
    ['/a', 'prefix part must be non-empty'],
    ['A_/a', `prefix part ${subdomain}`],
    ['a/b/c', qualified],
  ];
  for (const [key, text] of badKeys)
    for (const field of ['labels', 'annotations'])
      it(`refuse the key ${key} in ${field}`, async () => {
        expectInvalid(
          await client.post(configMaps, configMap('c', undefined, { [field]: { [key]: '' } })),
          'ConfigMap',
          'c',
          `metadata.${field}`,
          `Invalid value: "${key}": ${text}`,
        );
      });

  it('refuse an empty name', async () => {
    const reply = await client.post(configMaps, configMap('c', undefined, { labels: { 'x/': '' } }));
    expect(reply.body.details.causes[0].message).toBe('Invalid value: "x/": name part must be non-empty');
  });

  it('refuse a label value', async () => {
    for (const [bad, text] of [
      ['a b', value],
      ['-a', value],
      ['x'.repeat(64), 'must be no more than 63 characters'],
    ])
      expectInvalid(
        await client.post(configMaps, configMap('c', undefined, { labels: { a: bad } })),
        'ConfigMap',
        'c',
        'metadata.labels',
        `Invalid value: "${bad}": ${text}`,
      );
  });

  it('refuse annotations of more than 256 KiB', async () => {
    expectInvalid(
      await client.post(configMaps, configMap('c', undefined, { annotations: { a: 'x'.repeat(262_144) } })),
      'ConfigMap',
      'c',
      'metadata.annotations',
      'Too long: may not be more than 262144 bytes',
    );
  });

  it('are checked on updates too', async () => {
    await created(client, configMaps, configMap('relabelled'));
    const reply = await client.patch(`${configMaps}/relabelled`, { metadata: { labels: { a: 'a b' } } });
    expect(reply.status).toBe(422);
  });
});

describe('finalizers', () => {
  it('are qualified names', async () => {
    expectInvalid(
      await client.post(configMaps, configMap('c', undefined, { finalizers: ['bad'] })),
      'ConfigMap',
      'c',
      'metadata.finalizers[0]',
      'Invalid value: "bad": name is neither a standard finalizer name nor is it fully qualified',
    );
    const both = await client.post(
      configMaps,
      configMap('c', undefined, { finalizers: ['orphan', 'foregroundDeletion'] }),
    );
    expect(both.status).toBe(422);
    expect(both.body.details.causes[0].field).toBe('metadata.finalizers');
  });

  it('cannot be added once the object is being deleted', async () => {
    await created(client, configMaps, configMap('held', undefined, { finalizers: ['x.io/f'] }));
    await client.delete(`${configMaps}/held`);
    const path = `${configMaps}/held`;
    expectInvalid(
      await client.patch(path, { metadata: { finalizers: ['x.io/f', 'y.io/g'] } }),
      'ConfigMap',
      'held',
      'metadata.finalizers',
      'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"y.io/g"}',
    );
    const freed = await client.patch(path, { metadata: { finalizers: null } });
    expect(freed.status).toBe(200);
    expect(freed.body.metadata.deletionTimestamp).toBeTruthy();
    expect((await client.get(path)).status).toBe(404);
  });
});

describe('the marks of a deletion', () => {
  it('cannot be set by a write', async () => {
    await created(client, configMaps, configMap('alive'));
    const path = `${configMaps}/alive`;
    const deletionTimestamp = '2026-01-02T03:04:05Z';
    for (const reply of [
      await client.put(path, configMap('alive', undefined, { deletionTimestamp })),
      await client.patch(path, { metadata: { deletionTimestamp } }),
    ])
      expectInvalid(
        reply,
        'ConfigMap',
        'alive',
        'metadata.deletionTimestamp',
        'Invalid value: "2026-01-02T03:04:05Z": field is immutable',
      );
    expectInvalid(
      await client.patch(path, { metadata: { deletionGracePeriodSeconds: 5 } }),
      'ConfigMap',
      'alive',
      'metadata.deletionGracePeriodSeconds',
      'Invalid value: 5: field is immutable',
    );
  });

  it('cannot be taken away', async () => {
    await created(client, configMaps, configMap('doomed', undefined, { finalizers: ['x.io/f'] }));
    const { body } = await client.delete(`${configMaps}/doomed`);
    const reply = await client.put(
      `${configMaps}/doomed`,
      configMap('doomed', { a: '2' }, { finalizers: ['x.io/f'] }),
    );
    expect(reply.body.metadata.deletionTimestamp).toBe(body.metadata.deletionTimestamp);
    expect(reply.body.metadata.deletionGracePeriodSeconds).toBe(0);
  });
});

describe('ownerReferences', () => {
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' };
  const refused = async (ownerReferences: Json[]): Promise<Json> => {
    const reply = await client.post(configMaps, configMap('c', undefined, { ownerReferences }));
    expect(reply.status, reply.text).toBe(422);
    return reply.body.details.causes;
  };

  it('have apiVersion, kind, name and uid', async () => {
    expect(await refused([{ ...owner, name: '' }])).toEqual([
      {
        reason: 'FieldValueInvalid',
        message: 'Invalid value: "": must not be empty',
        field: 'metadata.ownerReferences.name',
      },
    ]);
    expect(await refused([{ ...owner, apiVersion: '' }])).toEqual([
      {
        reason: 'FieldValueInvalid',
        message: 'Invalid value: "": version must not be empty',
        field: 'metadata.ownerReferences.apiVersion',
      },
    ]);
    expect(await refused([{}])).toHaveLength(4);
  });

  it('name at most one controller, and no event', async () => {
    const controlling = { ...owner, controller: true };
    expect(await refused([controlling, { ...controlling, uid: 'w' }])).toHaveLength(1);
    expect(await refused([{ ...owner, kind: 'Event' }])).toHaveLength(1);
  });

  it('are kept as sent', async () => {
    const node = await created(client, '/api/v1/nodes', { metadata: { name: 'owner' } });
    const reference = {
      apiVersion: 'v1',
      kind: 'Node',
      name: 'owner',
      uid: node.metadata.uid,
      controller: true,
      blockOwnerDeletion: true,
    };
    const { metadata } = await created(client, pods, pod('owned', { ownerReferences: [reference] }));
    expect(metadata.ownerReferences).toEqual([reference]);
  });
});
