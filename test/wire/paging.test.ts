/** Paging: limit and continue, over one snapshot. Wire contract, section 7.5. */
import { beforeAll, describe, expect, it } from 'vitest';
import { type Client, type Json, type Reply, useCluster } from '../support/http.ts';
import { expectFailure } from './failure.ts';
import { configMap, created } from './objects.ts';

const client = useCluster();
const path = '/api/v1/namespaces/kube-public/configmaps';
const letters = ['a', 'b', 'c', 'd', 'e'];

const page = (query: Record<string, string>, from: Client = client): Promise<Reply> =>
  from.get(`${path}?${new URLSearchParams(query)}`);
const names = ({ body }: Reply): string[] => body.items.map((item: Json) => item.metadata.name);
const token = (value: Json): string => Buffer.from(JSON.stringify(value)).toString('base64url');

beforeAll(async () => {
  for (const name of letters)
    await created(
      client,
      path,
      configMap(name, {}, { labels: { vowel: 'ae'.includes(name) ? 'yes' : 'no' } }),
    );
});

describe('limit', () => {
  it('cuts a list into pages that say how much is left', async () => {
    const first = await page({ limit: '2' });
    expect(names(first)).toEqual(['a', 'b']);
    expect(first.body.metadata.remainingItemCount).toBe(3);
    const second = await page({ limit: '2', continue: first.body.metadata.continue });
    expect(names(second)).toEqual(['c', 'd']);
    expect(second.body.metadata.remainingItemCount).toBe(1);
    const third = await page({ limit: '2', continue: second.body.metadata.continue });
    expect(names(third)).toEqual(['e']);
    for (const name of ['continue', 'remainingItemCount'])
      expect(third.body.metadata).not.toHaveProperty(name);
  });

  it('leaves nothing to continue with when everything fits', async () => {
    for (const limit of ['5', '6', '0', '-1']) {
      const reply = await page({ limit });
      expect(names(reply)).toEqual(letters);
      expect(reply.body.metadata).not.toHaveProperty('continue');
    }
  });

  it('does not count what is left under a selector', async () => {
    const first = await page({ limit: '1', labelSelector: 'vowel=no' });
    expect(names(first)).toEqual(['b']);
    expect(first.body.metadata.continue).toBeTruthy();
    expect(first.body.metadata).not.toHaveProperty('remainingItemCount');
    const rest = await page({ labelSelector: 'vowel=no', continue: first.body.metadata.continue });
    expect(names(rest)).toEqual(['c', 'd']);
  });

  it('is ignored at version 0', async () => {
    expect(names(await page({ limit: '2', resourceVersion: '0' }))).toEqual(letters);
  });

  it('is honoured for a version that is just not older', async () => {
    const reply = await page({ limit: '2', resourceVersion: '1', resourceVersionMatch: 'NotOlderThan' });
    expect(names(reply)).toEqual(['a', 'b']);
  });
});

describe('continue', () => {
  it('shows the snapshot of the first page', async () => {
    const first = await page({ limit: '3' });
    await created(client, path, configMap('dd'));
    await client.delete(`${path}/e`);
    const rest = await page({ continue: first.body.metadata.continue });
    expect(names(rest)).toEqual(['d', 'e']);
    expect(rest.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
    expect(names(await page({}))).toEqual(['a', 'b', 'c', 'd', 'dd']);
    await client.delete(`${path}/dd`);
    await created(client, path, configMap('e', {}, { labels: { vowel: 'yes' } }));
  });

  it('refuses a token that is none', async () => {
    for (const text of ['!!!', 'x', token({ v: 'meta.k8s.io/v1' }), token({ v: 'v0', rv: 1, start: 'a' })])
      expectFailure(
        await page({ continue: text }),
        400,
        'BadRequest',
        /^invalid continue token: continue key is not valid: ./,
      );
  });

  it('does not go with a version', async () => {
    const first = await page({ limit: '3' });
    expectFailure(
      await page({ continue: first.body.metadata.continue, resourceVersion: '1' }),
      400,
      'BadRequest',
      'specifying resource version is not allowed when using continue',
    );
    const zero = await page({ continue: first.body.metadata.continue, resourceVersion: '0' });
    expect(names(zero)).toEqual(['d', 'e']);
  });

  it('stays within the namespace it is used in', async () => {
    const first = await page({ limit: '3' });
    const elsewhere = '/api/v1/namespaces/default/configmaps';
    const reply = await client.get(`${elsewhere}?continue=${first.body.metadata.continue}`);
    for (const item of reply.body.items ?? []) expect(item.metadata.namespace).toBe('default');
  });
});

describe('a snapshot that history has lost', () => {
  const forgetful = useCluster({ history: { changesMax: 1 } });

  it('is refused with a token to go on from at the current state', async () => {
    for (const name of letters) await created(forgetful, path, configMap(name));
    const first = await page({ limit: '2' }, forgetful);
    const { metadata } = first.body;
    let reply: Reply;
    // History is compacted from time to time; each round adds a change that can be compacted.
    for (let round = 0; ; round++) {
      await forgetful.patch(`${path}/e`, { data: { round: String(round) } });
      reply = await page({ continue: metadata.continue }, forgetful);
      if (reply.status !== 200) break;
    }
    const { continue: onward } = reply.body.metadata;
    expect(reply.body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: { continue: onward },
      status: 'Failure',
      message:
        'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
      reason: 'Expired',
      code: 410,
    });
    expect(reply.status).toBe(410);
    await forgetful.delete(`${path}/d`);
    expect(names(await page({ continue: onward }, forgetful))).toEqual(['c', 'e']);

    const exact = { resourceVersion: metadata.resourceVersion, resourceVersionMatch: 'Exact' };
    expectFailure(
      await page(exact, forgetful),
      410,
      'Expired',
      'The resourceVersion for the provided list is too old.',
    );
  });
});
