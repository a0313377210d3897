/** Events in their two API groups, over HTTP, and leases, which only exist in a current group. */
import { beforeAll, describe, expect, test } from 'vitest';
import { brief, type Json, strategicPatch, useCluster } from '../support/http.ts';
import { made, placeOf, read, tableAccept } from '../support/versions.ts';

describe('events', () => {
  const client = useCluster({ controllers: false });
  const core = placeOf('v1', 'events');
  const modern = placeOf('events.k8s.io/v1', 'events');
  const regarding = { kind: 'Pod', namespace: 'default', name: 'p', uid: 'u-1' };
  const eventTime = '2024-05-01T12:00:00.123456Z';
  const fields = {
    eventTime,
    reportingController: 'example.com/c',
    reportingInstance: 'c-1',
    action: 'Act',
    reason: 'Because',
    regarding,
    note: 'It happened.',
    type: 'Normal',
  };

  beforeAll(async () => {
    await made(client, modern, { metadata: { name: 'new' }, ...fields });
    await made(client, core, {
      metadata: { name: 'old' },
      involvedObject: { ...regarding, name: 'q' },
      reason: 'Started',
      message: 'It started.',
      source: { component: 'kubelet', host: 'n1' },
      firstTimestamp: '2024-05-01T11:00:00Z',
      lastTimestamp: '2024-05-01T12:00:00Z',
      count: 3,
      type: 'Normal',
    });
  });

  test('are the same in both versions', async () => {
    expect(await read(client, `${core}/new`)).toMatchObject({
      kind: 'Event',
      apiVersion: 'v1',
      involvedObject: regarding,
      message: 'It happened.',
      reportingComponent: 'example.com/c',
      eventTime,
      source: {},
      firstTimestamp: null,
    });
    const old = await read(client, `${modern}/old`);
    expect(old).toMatchObject({
      kind: 'Event',
      apiVersion: 'events.k8s.io/v1',
      eventTime: null,
      regarding: { name: 'q' },
      note: 'It started.',
      deprecatedSource: { component: 'kubelet', host: 'n1' },
      deprecatedFirstTimestamp: '2024-05-01T11:00:00Z',
      deprecatedCount: 3,
    });
    expect(old).not.toHaveProperty('message');
  });

  test('are selected by the names of each version', async () => {
    const names = async (path: string, selector: string) =>
      (await read(client, `${path}?fieldSelector=${encodeURIComponent(selector)}`)).items.map(
        (one: Json) => one.metadata.name,
      );
    expect(await names(modern, 'regarding.name=p,reportingController=example.com/c')).toEqual(['new']);
    expect(await names(core, 'involvedObject.name=q,reason=Started')).toEqual(['old']);
    const unknown = await client.get(`${modern}?fieldSelector=nope%3D1`);
    expect([unknown.status, unknown.body.message]).toEqual([400, 'field label not supported: nope']);
  });

  test('grow into a series, and change in no other way', async () => {
    const series = { count: 2, lastObservedTime: eventTime };
    const patched = await client.patch(`${modern}/new`, { series });
    expect(patched.status, patched.text).toBe(200);
    expect((await read(client, `${core}/new`)).series).toEqual(series);
    const refused = await client.patch(`${modern}/new`, { note: 'Something else.' });
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'Event.events.k8s.io "new" is invalid: message: Invalid value: "Something else.": field is immutable',
    ]);
    expect((await client.patch(`${core}/new`, { message: 'Something else.' })).status).toBe(200);
  });

  test('are counted up by old writers in the old version', async () => {
    const patched = await client.patch(`${core}/old`, { count: 4 }, strategicPatch);
    expect(patched.status, patched.text).toBe(200);
    expect((await read(client, `${modern}/old`)).deprecatedCount).toBe(4);
  });

  test('are made by a PUT in either version, and held to more in the new one', async () => {
    const put = await client.put(`${modern}/put`, { metadata: { name: 'put' }, ...fields });
    expect(put.status, put.text).toBe(200);
    const refused = await client.post(modern, { metadata: { name: 'A_B' }, ...fields, deprecatedCount: 1 });
    expect(refused.status).toBe(422);
    expect(refused.body.details.causes.map((cause: Json) => cause.field)).toEqual(['metadata.name', 'count']);
  });

  test('are watched, shown and deleted in both', async () => {
    const watch = await client.watch(`${modern}?watch=true&resourceVersion=0`);
    expect((await watch.take(3)).map(brief)).toEqual(['ADDED new', 'ADDED old', 'ADDED put']);
    const table = (await client.get(modern, tableAccept)).body;
    expect(table.rows.map((row: Json) => row.cells[3])).toEqual(['pod/p', 'pod/q', 'pod/p']);
    expect((await client.delete(`${core}/put`)).status).toBe(200);
    const deleted = await watch.next();
    expect([brief(deleted), deleted.object.note]).toEqual(['DELETED put', 'It happened.']);
    watch.close();
    expect((await client.delete(modern)).status).toBe(200);
    expect((await read(client, core)).items).toEqual([]);
  });
});

describe('leases', () => {
  const client = useCluster({ controllers: false });
  const leases = placeOf('coordination.k8s.io/v1', 'leases');
  const spec = {
    holderIdentity: 'one',
    leaseDurationSeconds: 15,
    acquireTime: '2024-05-01T12:00:00.000000Z',
    renewTime: '2024-05-01T12:00:00.000000Z',
    leaseTransitions: 0,
  };

  test('are taken, renewed, and fought for', async () => {
    const lease = await made(client, leases, { metadata: { name: 'leader' }, spec });
    expect(lease.spec).toEqual(spec);
    const renewed = await client.put(`${leases}/leader`, {
      ...lease,
      spec: { ...spec, renewTime: '2024-05-01T12:00:10.000000Z' },
    });
    expect(renewed.status, renewed.text).toBe(200);
    const late = await client.put(`${leases}/leader`, { ...lease, spec: { ...spec, holderIdentity: 'two' } });
    expect(late.status).toBe(409);
    const blind = await client.put(`${leases}/leader`, { metadata: { name: 'leader' }, spec });
    expect([blind.status, blind.body.details.causes[0].field]).toEqual([422, 'metadata.resourceVersion']);
    expect((await client.put(`${leases}/other`, { metadata: { name: 'other' }, spec })).status).toBe(200);
  });

  test('are written in protobuf by those who elect leaders', async () => {
    const field = (number: number, bytes: Buffer) =>
      Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
    const text = (number: number, value: string) => field(number, Buffer.from(value));
    const type = [text(1, 'coordination.k8s.io/v1'), text(2, 'Lease')];
    const time = field(4, Buffer.from([0x08, 0x01, 0x10, 0xe8, 0x07]));
    const lease = [
      field(1, text(1, 'binary')),
      field(2, Buffer.concat([text(1, 'one'), Buffer.from([2 << 3, 15]), time])),
    ];
    const body = [field(1, Buffer.concat(type)), field(2, Buffer.concat(lease))];
    const reply = await client.post(leases, Buffer.concat([Buffer.from('k8s\0'), ...body]), {
      'Content-Type': 'application/vnd.kubernetes.protobuf',
    });
    expect(reply.status, reply.text).toBe(200);
    expect(reply.body).toMatchObject({ kind: 'Lease', metadata: { name: 'binary' } });
    expect(reply.body.spec).toEqual({
      holderIdentity: 'one',
      leaseDurationSeconds: 15,
      renewTime: '1970-01-01T00:00:01.000001Z',
    });
    await client.delete(`${leases}/binary`);
  });

  test('are shown with their holders', async () => {
    const table = (await client.get(leases, tableAccept)).body;
    expect(table.columnDefinitions.map(({ name }: Json) => name)).toEqual(['Name', 'Holder', 'Age']);
    expect(table.rows[0].cells.slice(0, 2)).toEqual(['leader', 'one']);
  });
});
