/**
 * Proves that elements that are null in YAML, and messages of no bytes in protobuf, are what null is in JSON: an element
 * of which nothing is set. `empty-fields.test.ts` tries all kinds in JSON.
 */
import { describe, expect, it } from 'vitest';
import { useCluster } from '../support/http.ts';

const client = useCluster({ controllers: ['none'] });

const field = (number: number, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
const text = (number: number, value: string): Buffer => field(number, Buffer.from(value));
const all = (...parts: Buffer[]): Buffer => Buffer.concat(parts);
const nothing = Buffer.alloc(0);
const metadata = field(1, text(1, 'x'));

interface Case {
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly json: object;
  readonly yaml: string;
  /** Behind the metadata. */
  readonly protobuf: Buffer;
}

const namespaced = (group: string, resource: string): string => `/${group}/namespaces/default/${resource}`;

const cases: readonly Case[] = [
  {
    path: namespaced('api/v1', 'services'),
    apiVersion: 'v1',
    kind: 'Service',
    json: { spec: { ports: [null] } },
    yaml: 'spec:\n  ports:\n  -\n',
    protobuf: field(2, field(1, nothing)),
  },
  {
    path: namespaced('api/v1', 'pods'),
    apiVersion: 'v1',
    kind: 'Pod',
    json: { spec: { containers: [null], volumes: [null] } },
    yaml: 'spec:\n  containers: [~]\n  volumes:\n  - null\n',
    protobuf: field(2, all(field(1, nothing), field(2, nothing))),
  },
  {
    path: namespaced('apis/discovery.k8s.io/v1', 'endpointslices'),
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    json: { addressType: 'IPv4', endpoints: [null], ports: [null] },
    yaml: 'addressType: IPv4\nendpoints: [null]\nports:\n- ~\n',
    protobuf: all(field(2, nothing), field(3, nothing), text(4, 'IPv4')),
  },
  {
    path: namespaced('apis/networking.k8s.io/v1', 'ingresses'),
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    json: { spec: { rules: [{ http: { paths: [null] } }] } },
    yaml: 'spec:\n  rules:\n  - http:\n      paths:\n      -\n',
    protobuf: field(2, field(3, field(2, field(1, field(1, nothing))))),
  },
  {
    path: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    json: { rules: [{ verbs: [null], apiGroups: [null], resources: [null] }] },
    yaml: 'rules:\n- verbs: [~]\n  apiGroups: [&empty ~]\n  resources: [*empty]\n',
    protobuf: field(2, all(text(1, ''), text(2, ''), text(3, ''))),
  },
  {
    path: namespaced('api/v1', 'configmaps'),
    apiVersion: 'v1',
    kind: 'ConfigMap',
    json: { data: { a: null }, binaryData: { b: null } },
    yaml: 'data:\n  a:\nbinaryData: {b: ~}\n',
    protobuf: all(field(2, text(1, 'a')), field(3, text(1, 'b'))),
  },
];

const envelope = (apiVersion: string, kind: string, object: Buffer): Buffer =>
  all(Buffer.from('k8s\0'), field(1, all(text(1, apiVersion), text(2, kind))), field(2, object));

describe.each(cases)('$kind', ({ path, apiVersion, kind, json, yaml, protobuf }) => {
  const answerOf = async (body: string | Buffer, type: string) => {
    const reply = await client.post(`${path}?dryRun=All`, body, { 'Content-Type': type });
    const { status, body: answer } = reply;
    return { status, answer: { ...answer, metadata: undefined } };
  };

  it('says the same in every encoding', async () => {
    const head = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: x}\n`;
    const asJson = await answerOf(
      JSON.stringify({ apiVersion, kind, metadata: { name: 'x' }, ...json }),
      'application/json',
    );
    expect([200, 422]).toContain(asJson.status);
    expect(await answerOf(head + yaml, 'application/yaml')).toEqual(asJson);
    const message = envelope(apiVersion, kind, all(metadata, protobuf));
    expect(await answerOf(message, 'application/vnd.kubernetes.protobuf')).toEqual(asJson);
  });
});
