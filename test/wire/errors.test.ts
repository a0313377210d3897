/** Errors: the Status of everything that fails. Wire contract, section 9. */
import { describe, expect, it } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { expectFailure } from './failure.ts';
import { configMap, configMaps, created, currentVersion, job, jobs } from './objects.ts';

const client = useCluster();

describe('a Status', () => {
  it('has its members in order, and v1 for every group', async () => {
    const reply = await client.get(`${jobs}/x`);
    expect(reply.text).toBe(
      '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"jobs.extensions \\"x\\" not found","reason":"NotFound","details":{"name":"x","group":"extensions","kind":"jobs"},"code":404}\n',
    );
  });

  it('has no details where there are none to give, or empty ones', async () => {
    const bad = await client.get(`${configMaps}?limit=x`);
    expect(Object.keys(bad.body)).toEqual([
      'kind',
      'apiVersion',
      'metadata',
      'status',
      'message',
      'reason',
      'code',
    ]);
    expect((await client.get('/api/v1/nopes')).body.details).toEqual({});
  });

  it('without a mapping is a bare 500', async () => {
    const reply = await client.get(`${configMaps}/c?resourceVersion=abc`);
    expect(reply.body).not.toHaveProperty('reason');
    expect(reply.body).not.toHaveProperty('details');
    expect(reply.status).toBe(500);
  });

  it('that asks for patience says so in a header too', async () => {
    const version = (await currentVersion(client)) + 1000;
    const reply = await client.get(`${configMaps}/c?resourceVersion=${version}`);
    expect(reply.body.details.retryAfterSeconds).toBe(1);
    expect(reply.headers['retry-after']).toBe('1');
  });
});

describe('validation', () => {
  it('names the kind, and tells one error plainly', async () => {
    const reply = await client.post(configMaps, configMap('c', {}, { labels: { a: 'b c' } }));
    expect(reply.body.message).toMatch(/^ConfigMap "c" is invalid: metadata\.labels: Invalid value: "b c": /);
    expect(reply.body.details).toMatchObject({ name: 'c', kind: 'ConfigMap' });
    expect(reply.body.details.causes).toHaveLength(1);
  });

  it('names the group, and tells several errors as a list', async () => {
    const object = job('c');
    object.metadata = { name: 'c', finalizers: ['bad', 'worse'] };
    const reply = await client.post(jobs, object);
    const text = 'name is neither a standard finalizer name nor is it fully qualified';
    const causes = [
      {
        reason: 'FieldValueInvalid',
        message: `Invalid value: "bad": ${text}`,
        field: 'metadata.finalizers[0]',
      },
      {
        reason: 'FieldValueInvalid',
        message: `Invalid value: "worse": ${text}`,
        field: 'metadata.finalizers[1]',
      },
    ];
    expectFailure(
      reply,
      422,
      'Invalid',
      `Job.extensions "c" is invalid: [${causes.map(({ field, message }) => `${field}: ${message}`).join(', ')}]`,
      { name: 'c', group: 'extensions', kind: 'Job', causes },
    );
  });

  it('prints what is the same once, and keeps every cause', async () => {
    const owner = { apiVersion: 'v1', kind: 'Node', name: '', uid: 'u' };
    const object = configMap('c', {}, { ownerReferences: [owner, { ...owner, uid: 'v' }] });
    const reply = await client.post(configMaps, object);
    expect(reply.body.message).toBe(
      'ConfigMap "c" is invalid: metadata.ownerReferences.name: Invalid value: "": must not be empty',
    );
    expect(reply.body.details.causes).toHaveLength(2);
  });
});

describe('a request that takes too long', () => {
  it('is given up', async () => {
    const version = (await currentVersion(client)) + 1000;
    expectFailure(
      await client.get(`${configMaps}?resourceVersion=${version}&timeout=100ms`),
      504,
      'Timeout',
      'Timeout: request did not complete within the allotted timeout',
      {},
    );
  });
});

describe('a failure of the server itself', () => {
  const reported: Error[] = [];
  let broken = false;
  const failing = useCluster({
    onError: (error) => reported.push(error),
    chance: {
      uid: () => {
        if (broken) throw new Error('a secret of the server');
        return crypto.randomUUID();
      },
    },
  });

  it('is told without saying what it was, and is reported', async () => {
    await created(failing, configMaps, configMap('c'));
    broken = true;
    const reply = await failing.post(configMaps, configMap('d'));
    broken = false;
    expect(reply.status).toBe(500);
    expect(reply.body).toMatchObject({ kind: 'Status', reason: 'InternalError', code: 500 });
    expect(reply.body.message).toMatch(/^Internal error occurred: ./);
    const [cause] = reply.body.details.causes as Json[];
    expect(`Internal error occurred: ${cause.message}`).toBe(reply.body.message);
    expect(reply.text).not.toContain('secret');
    expect(reported.map((error) => error.message)).toContain('a secret of the server');
  });
});
