/** Proves that values that fit the schema of a kind and not its types are refused in the words of Kubernetes. */
import { expect, it } from 'vitest';
import { useCluster } from '../support/http.ts';

const client = useCluster({ like: 'kubernetes', controllers: false });

const refused = async (apiVersion: string, kind: string, resource: string, more: object): Promise<string> => {
  const path = `${apiVersion.includes('/') ? '/apis' : '/api'}/${apiVersion}/namespaces/default/${resource}/x`;
  const { status, body } = await client.patch(
    `${path}?fieldManager=me`,
    { apiVersion, kind, metadata: { name: 'x' }, ...more },
    'application/apply-patch+yaml',
  );
  expect(status).toBe(500);
  const group = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`;
  const prefix = `failed to convert new object (/x; ${group}, Kind=${kind}) to proper version: unable to convert unstructured object to ${group}, Kind=${kind}: `;
  expect(body.message.startsWith(prefix)).toBe(true);
  return body.message.slice(prefix.length);
};

it.each([
  ['v1', 'Pod', 'pods', { spec: { activeDeadlineSeconds: 1.5 } }, 'cannot convert float64 to int64'],
  ['v1', 'Service', 'services', { spec: { ports: [{ port: 0.5 }] } }, 'cannot convert float64 to int32'],
  [
    'v1',
    'Service',
    'services',
    { spec: { ports: [{ port: 80, targetPort: 1.5 }] } },
    'json: cannot unmarshal number 1.5 into Go value of type int32',
  ],
  [
    'v1',
    'ConfigMap',
    'configmaps',
    { binaryData: { a: '!!' } },
    'error decoding from json: illegal base64 data at input byte 0',
  ],
  [
    'coordination.k8s.io/v1',
    'Lease',
    'leases',
    { spec: { renewTime: 5 } },
    'json: cannot unmarshal number into Go value of type string',
  ],
])('%s %s %s %j', async (apiVersion, kind, resource, more, why) => {
  expect(await refused(apiVersion, kind, resource, more)).toBe(why);
});

it.each([
  [4_294_967_376, 80],
  [2 ** 32 + 2 ** 31 - 1, 2 ** 31 - 1],
])('of an integer that is too large, the lowest bits remain: %d', async (port, stored) => {
  const { status, body } = await client.patch(
    '/api/v1/namespaces/default/endpoints/wrapped?fieldManager=me&force=true',
    {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'wrapped' },
      subsets: [{ addresses: [{ ip: '10.1.1.1' }], ports: [{ port }] }],
    },
    'application/apply-patch+yaml',
  );
  if (stored > 65_535) {
    expect(body.message).toContain(`subsets[0].ports[0].port: Invalid value: ${stored}`);
    return;
  }
  expect([status, body.subsets[0].ports[0].port]).toEqual([201, stored]);
});
