/** Bindings that make no sense are refused as invalid, as Kubernetes 1.1 did, and leave the pod alone. */
import { describe, expect, it } from 'vitest';
import { useCluster } from '../support/http.ts';
import { expectFailure, expectInvalid } from './failure.ts';
import { created, pod, pods } from './objects.ts';

const byContract = useCluster();
const likeKubernetes = useCluster({ like: 'kubernetes' });

const wrong = [
  { what: 'no target', body: {}, field: 'target.name', text: 'Required value' },
  {
    what: 'a target of another kind',
    body: { target: { kind: 'Pod', name: 'n' } },
    field: 'target.kind',
    text: 'Unsupported value: "Pod": supported values: "Node", "<empty>"',
  },
];

describe.each(wrong)('a binding with $what', ({ body, field, text }) => {
  it('is invalid', async () => {
    const name = field.replace('.', '-');
    await created(byContract, pods, pod(name));
    for (const path of [`${pods}/${name}/binding`, '/api/v1/namespaces/default/bindings']) {
      const reply = await byContract.post(path, { metadata: { name }, ...body });
      expectInvalid(reply, 'Binding', name, field, text);
    }
    expect((await byContract.get(`${pods}/${name}`)).body.spec).not.toHaveProperty('nodeName');
  });

  it('is a bare failure to clients who asked for the answers of today', async () => {
    const reply = await likeKubernetes.post(`${pods}/x/binding`, { metadata: { name: 'x' }, ...body });
    expectFailure(reply, 500, undefined, `${field}: ${text}`);
  });
});

it('other answers of today are given to the same clients', async () => {
  const watch = await likeKubernetes.get(`${pods}?watch=true&resourceVersion=abc`);
  expect(watch.status).toBe(500);
  await likeKubernetes.post('/api/v1/namespaces/default/configmaps', { metadata: { name: 'c' } });
  const { body } = await likeKubernetes.delete('/api/v1/namespaces/default/configmaps/c');
  expect(body).toMatchObject({ kind: 'Status', status: 'Success' });
  expect(body).not.toHaveProperty('code');
});
