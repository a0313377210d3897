/**
 * Proves with random requests that each gets an answer, and that none causes a 500, a reported failure or a crash.
 */
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { builtinKinds } from '../../src/api/kinds/kinds.ts';
import { isFault } from '../support/faults.ts';
import type { Json, Reply } from '../support/http.ts';
import { accepts, pick, prefixOf, requestOf, sampleOf } from '../support/made-up.ts';
import { useTarget } from '../support/target.ts';
import { rounds } from '../support/tier.ts';

/** Number of sequences, and of requests in each. WHERRY_RUNS sets more. */
const sequences = Number(process.env['WHERRY_RUNS'] ?? rounds(150));
const requestsMax = 8;

const protobufType = 'application/vnd.kubernetes.protobuf';
const target = useTarget({ controllers: true });

beforeAll(async () => {
  await target.post('/api/v1/namespaces', { metadata: { name: 'other' } });
  for (const namespace of ['default', 'other'])
    await target.post(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } });
});

/** Whether requests have deleted, or are deleting, every range that services get addresses from. */
async function hasNoRange(): Promise<boolean> {
  const { body } = await target.get('/apis/networking.k8s.io/v1/servicecidrs');
  return body.items.every(({ metadata }: Json) => metadata.deletionTimestamp);
}

/** Expects a valid answer: an object, a list, a Status, or one of the few plain-text pages. */
async function expectAnswer(reply: Reply): Promise<void> {
  const type = String(reply.headers['content-type']);
  // Without a range of addresses, services get none; Kubernetes answers so, too. With one this would be a failure.
  const isFull = /failed to allocate a serviceIP.*range is full/.test(reply.text);
  if (!isFull || !(await hasNoRange())) {
    expect(isFault(reply)).toBe(false);
    expect(reply.text).not.toContain('InternalError');
  }
  if (type === protobufType) expect(reply.text.slice(0, 4)).toBe('k8s\0');
  else if (reply.status >= 400 && type.startsWith('application/json'))
    expect(reply.body).toMatchObject({ kind: 'Status', status: 'Failure', code: reply.status });
  else if (reply.status >= 400) expect(reply.text).toBe('404 page not found\n');
  else if (type.startsWith('application/json') && reply.text) expect(reply.body).toBeTypeOf('object');
  expect(target.failures).toEqual([]);
}

describe('requests at random', () => {
  it('all get an answer, and leave the server standing', async () => {
    let sent = 0;
    const property = fc.asyncProperty(fc.gen(), async (gen) => {
      const kind = pick(gen, builtinKinds);
      const home = `${prefixOf(kind)}${kind.namespaced ? '/namespaces/default' : ''}/${kind.resource}`;
      const count = 1 + gen(fc.nat, { max: requestsMax - 1 });
      for (let i = 0; i < count; i++) {
        const request = requestOf(gen, kind);
        // Create the object that is to be changed.
        if (request.method === 'PUT' || request.method === 'PATCH')
          await target.post(home, sampleOf(kind, request.name));
        sent += 1;
        const reply = await target.request(request.method, request.path, request.body, request.headers);
        try {
          await expectAnswer(reply);
        } catch (error) {
          const failures = target.failures.splice(0).map((failure) => failure.stack);
          throw new Error(
            [JSON.stringify(request), reply.status, reply.text.slice(0, 2000), ...failures, error].join('\n'),
          );
        }
      }
    });
    await fc.assert(property, { numRuns: sequences });
    expect(sent).toBeGreaterThan(3 * sequences);
    expect((await target.get('/healthz')).text).toBe('ok');
    for (const kind of builtinKinds) {
      const prefix = prefixOf(kind);
      for (const Accept of [...accepts.slice(0, 2), accepts[4]!, accepts[10]!])
        expect((await target.get(`${prefix}/${kind.resource}`, { Accept })).status).toBe(200);
    }
    expect(target.failures).toEqual([]);
  });
});
