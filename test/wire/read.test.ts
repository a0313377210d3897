/** Reading one object, and which versions of it can be asked for. Wire contract, section 6.1. */
import { beforeAll, describe, expect, it } from 'vitest';
import { useCluster } from '../support/http.ts';
import { expectFailure } from './failure.ts';
import { configMap, configMaps, created, currentVersion, jobs } from './objects.ts';

const client = useCluster();
const path = `${configMaps}/c`;

beforeAll(async () => {
  await created(client, configMaps, configMap('c'));
});

describe('GET', () => {
  it('answers with the object', async () => {
    const reply = await client.get(path);
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: '1' } });
  });

  it('misses what is not there', async () => {
    expectFailure(await client.get(`${configMaps}/x`), 404, 'NotFound', 'configmaps "x" not found', {
      name: 'x',
      kind: 'configmaps',
    });
    expectFailure(await client.get(`${jobs}/x`), 404, 'NotFound', 'jobs.extensions "x" not found', {
      name: 'x',
      group: 'extensions',
      kind: 'jobs',
    });
  });

  it('ignores export and exact', async () => {
    const { body } = await client.get(`${path}?export=true&exact=true`);
    expect(body.metadata.uid).toBeTruthy();
  });
});

describe('resourceVersion', () => {
  it('of now, of the past, 0 and none get the current object', async () => {
    for (const version of ['', '0', '1', String(await currentVersion(client))])
      expect((await client.get(`${path}?resourceVersion=${version}`)).body.metadata.name).toBe('c');
  });

  it('of the future is waited for, then refused', async () => {
    const wanted = (await currentVersion(client)) + 1000;
    const reply = await client.get(`${path}?resourceVersion=${wanted}`);
    expectFailure(
      reply,
      504,
      'Timeout',
      new RegExp(`^Timeout: Too large resource version: ${wanted}, current: \\d+$`),
      {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      },
    );
    expect(reply.headers['retry-after']).toBe('1');
  });

  it('of the near future is waited for', async () => {
    const wanted = (await currentVersion(client)) + 5;
    const waiting = client.get(`${path}?resourceVersion=${wanted}`);
    let last = 0;
    for (let version = 0; version < wanted; ) {
      const { metadata } = (await client.patch(path, { data: { version: String(version) } })).body;
      version = Number(metadata.resourceVersion);
      if (version <= wanted) last = version;
    }
    const reply = await waiting;
    expect(reply.status).toBe(200);
    expect(Number(reply.body.metadata.resourceVersion)).toBeGreaterThanOrEqual(last);
  });

  it('is a number', async () => {
    expectFailure(
      await client.get(`${path}?resourceVersion=abc`),
      500,
      undefined,
      'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    );
  });
});
