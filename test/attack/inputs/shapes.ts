/** What inputs are made of: requests, objects with long lists in them, and what is sent before and after. */
/** One request. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | readonly string[];
  readonly body?: object | string;
  /** Requests around it, whose cost does not count. */
  readonly before?: Sent;
  readonly after?: Sent;
}

export interface ListInput {
  readonly name: string;
  /** The smaller length. */
  readonly n: number;
  /** @param unique a text that no other request has */
  make(n: number, unique: string): Sent;
}

export const many = <T>(n: number, one: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => one(i));
export const record = (n: number, key: (i: number) => string, value: (i: number) => unknown): object =>
  Object.fromEntries(many(n, (i) => [key(i), value(i)]));

export const core = '/api/v1/namespaces/default';
const paths: Readonly<Record<string, string>> = {
  ConfigMap: `${core}/configmaps`,
  Pod: `${core}/pods`,
  Service: `${core}/services`,
  Endpoints: `${core}/endpoints`,
  LimitRange: `${core}/limitranges`,
  Role: '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles',
  RoleBinding: '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings',
  NetworkPolicy: '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies',
  Ingress: '/apis/networking.k8s.io/v1/namespaces/default/ingresses',
  Deployment: '/apis/apps/v1/namespaces/default/deployments',
  CustomResourceDefinition: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  ValidatingWebhookConfiguration: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  ValidatingAdmissionPolicy: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  FlowSchema: '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
};

export interface Shape {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly metadata?: object;
  readonly [field: string]: unknown;
}

const nameOf = (unique: string): string => unique.toLowerCase().replace(/[^a-z0-9]+/g, '-');

const objectOf = ({ kind, metadata, ...rest }: Shape, name: string): object => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, ...metadata },
  ...rest,
});

/** A create; the object is removed afterwards. */
export const create = (name: string, n: number, shape: (n: number, unique: string) => Shape): ListInput => ({
  name,
  n,
  make: (length, unique) => {
    const object = shape(length, nameOf(unique));
    const path = paths[object.kind]!;
    const own = (object.metadata as { name?: string } | undefined)?.name ?? nameOf(unique);
    return {
      method: 'POST',
      path,
      body: objectOf(object, own),
      after: { method: 'DELETE', path: `${path}/${own}` },
    };
  },
});

/** A change of an object that is there, by any method. */
export const change = (
  name: string,
  n: number,
  from: (n: number) => Shape,
  sent: (n: number, path: string, name: string) => Pick<Sent, 'method' | 'path' | 'headers' | 'body'>,
): ListInput => ({
  name,
  n,
  make: (length, unique) => {
    const own = nameOf(unique);
    const object = from(length);
    const path = paths[object.kind]!;
    const place = `${path}/${own}`;
    return {
      ...sent(length, place, own),
      before: { method: 'POST', path, body: objectOf(object, own) },
      after: { method: 'DELETE', path: place },
    };
  },
});

const patch = (type: string) => ({ 'Content-Type': `application/${type}` });
export const strategic = patch('strategic-merge-patch+json');
export const merge = patch('merge-patch+json');
export const jsonPatch = patch('json-patch+json');
export const apply = patch('apply-patch+yaml');

export const container = { name: 'main', image: 'image' };
export const pod = (spec: object, containerFields: object = {}): Shape => ({
  kind: 'Pod',
  spec: { containers: [{ ...container, ...containerFields }], ...spec },
});
export const env = (n: number): object[] => many(n, (i) => ({ name: `V${i}`, value: 'v' }));
export const volumes = (n: number): object[] => many(n, (i) => ({ name: `v${i}`, emptyDir: {} }));
export const mounts = (n: number): object[] => many(n, (i) => ({ name: `v${i}`, mountPath: `/m${i}` }));
export const labels = (n: number): object =>
  record(
    n,
    (i) => `label-${i}`,
    () => 'value',
  );
export const managed = (n: number, field: (i: number) => string): object[] =>
  many(n, (i) => ({
    manager: `m${i}`,
    operation: i % 2 ? 'Update' : 'Apply',
    apiVersion: 'v1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:data': { [`f:${field(i)}`]: {} } },
  }));
export const owners = (n: number): object[] =>
  many(n, (i) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: `o${i}`, uid: `uid-${i}` }));
export const data = (n: number): object =>
  record(
    n,
    (i) => `key-${i}`,
    () => 'v',
  );

export const definition = (unique: string, versions: object[], names: object = {}): Shape => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `things.${unique}.example.com` },
  spec: {
    group: `${unique}.example.com`,
    scope: 'Namespaced',
    names: { plural: 'things', singular: 'thing', kind: 'Thing', ...names },
    versions,
  },
});
export const version = (name: string, fields: object = {}): object => ({
  name,
  served: true,
  storage: name === 'v1',
  schema: { openAPIV3Schema: { type: 'object', ...fields } },
});
export const deep = (n: number): object => {
  let schema: object = { type: 'string' };
  for (let i = 0; i < n; i++) schema = { type: 'object', properties: { a: schema } };
  return schema;
};

export const webhook = (i: number, fields: object = {}): object => ({
  name: `w${i}.example.com`,
  clientConfig: { url: 'https://127.0.0.1:1/' },
  failurePolicy: 'Ignore',
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  ...fields,
});
export const admission = { apiVersion: 'admissionregistration.k8s.io/v1' };
export const selectsNothing = { namespaceSelector: { matchLabels: { nothing: 'here' } } };
export const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
export const networking = { apiVersion: 'networking.k8s.io/v1' };

export const url = (name: string, n: number, path: (n: number) => string): ListInput => ({
  name,
  n,
  make: (length) => ({ method: 'GET', path: path(length) }),
});
export const headers = (name: string, n: number, lines: (n: number) => string[]): ListInput => ({
  name,
  n,
  make: (length) => ({ method: 'GET', path: '/api/v1/namespaces', headers: lines(length) }),
});
