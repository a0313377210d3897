/**
 * Inputs whose length a client chooses: one of each shape that the API has. The greater of the two lengths that are tried
 * is near what a request may be at most.
 */

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

const many = <T>(n: number, one: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => one(i));
const record = (n: number, key: (i: number) => string, value: (i: number) => unknown): object =>
  Object.fromEntries(many(n, (i) => [key(i), value(i)]));

const core = '/api/v1/namespaces/default';
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

interface Shape {
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
const create = (name: string, n: number, shape: (n: number, unique: string) => Shape): ListInput => ({
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
const change = (
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
const strategic = patch('strategic-merge-patch+json');
const merge = patch('merge-patch+json');
const jsonPatch = patch('json-patch+json');
const apply = patch('apply-patch+yaml');

const container = { name: 'main', image: 'image' };
const pod = (spec: object, containerFields: object = {}): Shape => ({
  kind: 'Pod',
  spec: { containers: [{ ...container, ...containerFields }], ...spec },
});
const env = (n: number): object[] => many(n, (i) => ({ name: `V${i}`, value: 'v' }));
const volumes = (n: number): object[] => many(n, (i) => ({ name: `v${i}`, emptyDir: {} }));
const mounts = (n: number): object[] => many(n, (i) => ({ name: `v${i}`, mountPath: `/m${i}` }));
const labels = (n: number): object =>
  record(
    n,
    (i) => `label-${i}`,
    () => 'value',
  );
const managed = (n: number, field: (i: number) => string): object[] =>
  many(n, (i) => ({
    manager: `m${i}`,
    operation: i % 2 ? 'Update' : 'Apply',
    apiVersion: 'v1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:data': { [`f:${field(i)}`]: {} } },
  }));
const owners = (n: number): object[] =>
  many(n, (i) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: `o${i}`, uid: `uid-${i}` }));
const data = (n: number): object =>
  record(
    n,
    (i) => `key-${i}`,
    () => 'v',
  );

const definition = (unique: string, versions: object[], names: object = {}): Shape => ({
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
const version = (name: string, fields: object = {}): object => ({
  name,
  served: true,
  storage: name === 'v1',
  schema: { openAPIV3Schema: { type: 'object', ...fields } },
});
const deep = (n: number): object => {
  let schema: object = { type: 'string' };
  for (let i = 0; i < n; i++) schema = { type: 'object', properties: { a: schema } };
  return schema;
};

const webhook = (i: number, fields: object = {}): object => ({
  name: `w${i}.example.com`,
  clientConfig: { url: 'https://127.0.0.1:1/' },
  failurePolicy: 'Ignore',
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  ...fields,
});
const admission = { apiVersion: 'admissionregistration.k8s.io/v1' };
const selectsNothing = { namespaceSelector: { matchLabels: { nothing: 'here' } } };
const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
const networking = { apiVersion: 'networking.k8s.io/v1' };

const url = (name: string, n: number, path: (n: number) => string): ListInput => ({
  name,
  n,
  make: (length) => ({ method: 'GET', path: path(length) }),
});
const headers = (name: string, n: number, lines: (n: number) => string[]): ListInput => ({
  name,
  n,
  make: (length) => ({ method: 'GET', path: '/api/v1/namespaces', headers: lines(length) }),
});

export const inputs: readonly ListInput[] = [
  headers('headers', 5_000, (n) => many(n, (i) => [`x-h${i}`, 'v']).flat()),
  headers('headers of one name', 5_000, (n) => many(n, () => ['x-h', 'v']).flat()),
  headers('impersonated groups', 5_000, (n) => [
    'impersonate-user',
    'a',
    ...many(n, (i) => ['impersonate-group', `g${i}`]).flat(),
  ]),
  headers('impersonated extra', 5_000, (n) => [
    'impersonate-user',
    'a',
    ...many(n, (i) => [`impersonate-extra-k${i}`, 'v']).flat(),
  ]),
  headers('impersonated extra of one key', 5_000, (n) => [
    'impersonate-user',
    'a',
    ...many(n, () => ['impersonate-extra-k', 'v']).flat(),
  ]),
  headers('accepted types', 4_000, (n) => ['accept', many(n, (i) => `application/x${i};q=0.5`).join(',')]),
  headers('accepted encodings', 8_000, (n) => ['accept-encoding', many(n, (i) => `x${i};q=0`).join(',')]),
  headers('blanks in a header', 50_000, (n) => ['accept-encoding', `gzip${' '.repeat(n)}x`]),
  headers('blanks in a length', 20_000, (n) => ['content-length', `1${' '.repeat(n)}2`]),
  headers('blanks in a host', 20_000, (n) => ['host', `a${' '.repeat(n)}b:1`]),
  headers('colons in a host', 20_000, (n) => ['host', ':1'.repeat(n)]),
  headers('blanks in a type', 20_000, (n) => ['content-type', `a${' ;'.repeat(n)}b`]),
  headers('blanks among accepted types', 20_000, (n) => [
    'accept',
    `text/html${' '.repeat(n)}x,${' '.repeat(n)}x`,
  ]),
  headers('tags', 20_000, (n) => ['if-none-match', 'W/"a", '.repeat(n)]),
  headers('cookies', 8_000, (n) => ['cookie', many(n, (i) => `a${i}=b`).join('; ')]),
  url('query parameters', 10_000, (n) => `${core}/configmaps?${many(n, (i) => `p${i}=v`).join('&')}`),
  url(
    'query parameters of one name',
    10_000,
    (n) => `${core}/configmaps?${many(n, () => 'labelSelector=a').join('&')}`,
  ),
  url(
    'terms of a label selector',
    8_000,
    (n) => `${core}/configmaps?labelSelector=${many(n, (i) => `l${i}=v`).join(',')}`,
  ),
  url(
    'values of a label selector',
    10_000,
    (n) => `${core}/configmaps?labelSelector=a+in+(${many(n, (i) => `v${i}`).join(',')})`,
  ),
  url(
    'terms of a field selector',
    5_000,
    (n) => `${core}/configmaps?fieldSelector=${many(n, () => 'metadata.name=a').join(',')}`,
  ),
  url('path segments', 50_000, (n) => `/api/v1${'/a'.repeat(n)}`),
  url('dots in a path', 20_000, (n) => `/api/v1/namespaces/${'../'.repeat(n)}`),

  create('labels', 5_000, (n) => ({ kind: 'ConfigMap', metadata: { labels: labels(n) } })),
  create('annotations', 2_500, (n) => ({
    kind: 'ConfigMap',
    metadata: {
      annotations: record(
        n,
        (i) => `a${i}`,
        () => 'v',
      ),
    },
  })),
  create('finalizers', 7_500, (n) => ({
    kind: 'ConfigMap',
    metadata: { finalizers: many(n, (i) => `example.com/f${i}`) },
  })),
  create('owner references', 2_500, (n) => ({ kind: 'ConfigMap', metadata: { ownerReferences: owners(n) } })),
  create('managed fields', 2_000, (n) => ({
    kind: 'ConfigMap',
    metadata: { managedFields: managed(n, (i) => `k${i}`) },
  })),
  create('managed fields of one field', 2_000, (n) => ({
    kind: 'ConfigMap',
    data: data(2),
    metadata: { managedFields: managed(n, () => 'key-1') },
  })),
  create('data', 7_500, (n) => ({ kind: 'ConfigMap', data: data(n) })),
  create('tolerations', 4_000, (n) =>
    pod({ tolerations: many(n, (i) => ({ key: `k${i}`, operator: 'Exists' })) }),
  ),
  create('env', 7_500, (n) => pod({}, { env: env(n) })),
  create('env that refers to env', 4_000, (n) =>
    pod({}, { env: many(n, (i) => ({ name: `V${i}`, value: `$(V${i - 1})` })) }),
  ),
  create('envFrom', 4_000, (n) =>
    pod({}, { envFrom: many(n, (i) => ({ configMapRef: { name: `c${i}` } })) }),
  ),
  create('ports', 4_000, (n) =>
    pod({}, { ports: many(n, (i) => ({ containerPort: 1 + (i % 65_000), name: `p${i}` })) }),
  ),
  create('volumes', 4_000, (n) => pod({ volumes: volumes(n) })),
  create('volumes and mounts', 2_500, (n) => pod({ volumes: volumes(n) }, { volumeMounts: mounts(n) })),
  create('containers', 2_000, (n) => pod({ containers: many(n, (i) => ({ name: `c${i}`, image: 'i' })) })),
  create('init containers', 2_000, (n) =>
    pod({ initContainers: many(n, (i) => ({ name: `c${i}`, image: 'i' })) }),
  ),
  create('host aliases', 4_000, (n) =>
    pod({ hostAliases: many(n, (i) => ({ ip: `10.0.${(i >> 8) % 256}.${i % 256}`, hostnames: ['a'] })) }),
  ),
  create('image pull secrets', 5_000, (n) => pod({ imagePullSecrets: many(n, (i) => ({ name: `s${i}` })) })),
  create('spread constraints', 2_000, (n) =>
    pod({
      topologySpreadConstraints: many(n, (i) => ({
        maxSkew: 1,
        topologyKey: `k${i}`,
        whenUnsatisfiable: 'ScheduleAnyway',
      })),
    }),
  ),
  create('scheduling gates', 4_000, (n) =>
    pod({ schedulingGates: many(n, (i) => ({ name: `example.com/g${i}` })) }),
  ),
  create('node selector terms', 2_000, (n) =>
    pod({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: many(n, (i) => ({ matchExpressions: [{ key: `k${i}`, operator: 'Exists' }] })),
          },
        },
      },
    }),
  ),
  create('affinity terms', 1_500, (n) =>
    pod({
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: many(n, (i) => ({
            topologyKey: `k${i}`,
            labelSelector: {},
          })),
        },
      },
    }),
  ),
  create('readiness gates', 4_000, (n) =>
    pod({ readinessGates: many(n, (i) => ({ conditionType: `g${i}` })) }),
  ),
  create('resource requests', 4_000, (n) =>
    pod(
      {},
      {
        resources: {
          requests: record(
            n,
            (i) => `example.com/r${i}`,
            () => '1',
          ),
          limits: record(
            n,
            (i) => `example.com/r${i}`,
            () => '1',
          ),
        },
      },
    ),
  ),
  create('projected sources', 2_000, (n) =>
    pod({
      volumes: [
        {
          name: 'v',
          projected: {
            sources: many(n, (i) => ({ configMap: { name: `c${i}`, items: [{ key: 'k', path: `p${i}` }] } })),
          },
        },
      ],
    }),
  ),
  create('items of a volume', 4_000, (n) =>
    pod({
      volumes: [
        { name: 'v', configMap: { name: 'c', items: many(n, (i) => ({ key: `k${i}`, path: `p${i}` })) } },
      ],
    }),
  ),
  create('sysctls', 4_000, (n) =>
    pod({
      securityContext: { sysctls: many(n, (i) => ({ name: `kernel.shm_rmid_forced${i}`, value: '1' })) },
    }),
  ),
  create('capabilities', 7_500, (n) =>
    pod({}, { securityContext: { capabilities: { add: many(n, (i) => `C${i}`) } } }),
  ),
  create('service ports', 3_000, (n) => ({
    kind: 'Service',
    spec: { ports: many(n, (i) => ({ name: `p${i}`, port: 1 + i })) },
  })),
  create('endpoint addresses', 3_000, (n) => ({
    kind: 'Endpoints',
    subsets: [
      { addresses: many(n, (i) => ({ ip: `10.1.${(i >> 8) % 256}.${i % 256}` })), ports: [{ port: 1 }] },
    ],
  })),
  create('endpoint subsets', 1_500, (n) => ({
    kind: 'Endpoints',
    subsets: many(n, (i) => ({
      addresses: [{ ip: `10.1.${(i >> 8) % 256}.${i % 256}` }],
      ports: [{ port: 1 + i }],
    })),
  })),
  create('limits', 2_500, (n) => ({
    kind: 'LimitRange',
    spec: { limits: many(n, (i) => ({ type: `example.com/t${i}`, max: { cpu: '1' } })) },
  })),
  create('role rules', 2_500, (n) => ({
    ...rbac,
    kind: 'Role',
    rules: many(n, (i) => ({ apiGroups: [''], resources: [`r${i}`], verbs: ['get'] })),
  })),
  create('verbs of a rule', 10_000, (n) => ({
    ...rbac,
    kind: 'Role',
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: many(n, (i) => `v${i}`) }],
  })),
  create('subjects', 2_500, (n) => ({
    ...rbac,
    kind: 'RoleBinding',
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
    subjects: many(n, (i) => ({ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: `u${i}` })),
  })),
  create('policy rules', 2_000, (n) => ({
    ...networking,
    kind: 'NetworkPolicy',
    spec: {
      podSelector: {},
      ingress: many(n, (i) => ({ ports: [{ port: 1 + i }], from: [{ podSelector: {} }] })),
    },
  })),
  create('excepted blocks', 4_000, (n) => ({
    ...networking,
    kind: 'NetworkPolicy',
    spec: {
      podSelector: {},
      ingress: [
        {
          from: [
            {
              ipBlock: { cidr: '10.0.0.0/8', except: many(n, (i) => `10.${(i >> 8) % 256}.${i % 256}.0/24`) },
            },
          ],
        },
      ],
    },
  })),
  create('ingress rules', 1_500, (n) => ({
    ...networking,
    kind: 'Ingress',
    spec: {
      rules: many(n, (i) => ({
        host: `h${i}.example.com`,
        http: {
          paths: [
            { path: '/', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } },
          ],
        },
      })),
    },
  })),
  create('selector labels', 4_000, (n) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    spec: {
      selector: { matchLabels: labels(n) },
      template: { metadata: { labels: labels(n) }, spec: { containers: [container] } },
    },
  })),
  create('selector expressions', 3_000, (n) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    spec: {
      selector: {
        matchLabels: { a: 'b' },
        matchExpressions: many(n, (i) => ({ key: `k${i}`, operator: 'DoesNotExist' })),
      },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } },
    },
  })),
  create('selector values', 7_500, (n) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    spec: {
      selector: { matchExpressions: [{ key: 'a', operator: 'In', values: many(n, (i) => `v${i}`) }] },
      template: { metadata: { labels: { a: 'v0' } }, spec: { containers: [container] } },
    },
  })),
  create('definition versions', 750, (n, unique) =>
    definition(
      unique,
      many(n, (i) => version(`v${i + 1}`)),
    ),
  ),
  create('definition properties', 4_000, (n, unique) =>
    definition(unique, [
      version('v1', {
        properties: record(
          n,
          (i) => `p${i}`,
          () => ({ type: 'string' }),
        ),
      }),
    ]),
  ),
  create('definition depth', 250, (n, unique) =>
    definition(unique, [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: deep(n) } }]),
  ),
  create('definition columns', 2_500, (n, unique) =>
    definition(unique, [
      {
        ...version('v1'),
        additionalPrinterColumns: many(n, (i) => ({
          name: `c${i}`,
          type: 'string',
          jsonPath: `.spec.a${i}`,
        })),
      },
    ]),
  ),
  create('definition names', 4_000, (n, unique) =>
    definition(unique, [version('v1')], { shortNames: many(n, (i) => `s${i}`) }),
  ),
  create('enum of a property', 7_500, (n, unique) =>
    definition(unique, [
      version('v1', { properties: { a: { type: 'string', enum: many(n, (i) => `e${i}`) } } }),
    ]),
  ),
  create('required properties', 4_000, (n, unique) =>
    definition(unique, [
      version('v1', {
        required: many(n, (i) => `p${i}`),
        properties: record(
          n,
          (i) => `p${i}`,
          () => ({ type: 'string' }),
        ),
      }),
    ]),
  ),
  create('webhooks', 1_000, (n) => ({
    ...admission,
    kind: 'ValidatingWebhookConfiguration',
    webhooks: many(n, (i) => webhook(i, selectsNothing)),
  })),
  create('rules of a webhook', 2_000, (n) => ({
    ...admission,
    kind: 'ValidatingWebhookConfiguration',
    webhooks: [
      webhook(0, {
        ...selectsNothing,
        rules: many(n, (i) => ({
          apiGroups: ['x.example.com'],
          apiVersions: ['v1'],
          resources: [`r${i}`],
          operations: ['CREATE'],
        })),
      }),
    ],
  })),
  create('resources of a webhook rule', 7_500, (n) => ({
    ...admission,
    kind: 'ValidatingWebhookConfiguration',
    webhooks: [
      webhook(0, {
        ...selectsNothing,
        rules: [
          {
            apiGroups: ['x.example.com'],
            apiVersions: ['v1'],
            resources: many(n, (i) => `r${i}`),
            operations: ['CREATE'],
          },
        ],
      }),
    ],
  })),
  create('match conditions', 2_500, (n) => ({
    ...admission,
    kind: 'ValidatingWebhookConfiguration',
    webhooks: [
      webhook(0, {
        ...selectsNothing,
        matchConditions: many(n, (i) => ({ name: `m${i}`, expression: 'true' })),
      }),
    ],
  })),
  create('validations of a policy', 1_500, (n) => ({
    ...admission,
    kind: 'ValidatingAdmissionPolicy',
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: ['x.example.com'], apiVersions: ['v1'], resources: ['y'], operations: ['CREATE'] },
        ],
      },
      validations: many(n, () => ({ expression: 'true' })),
    },
  })),
  create('variables of a policy', 1_500, (n) => ({
    ...admission,
    kind: 'ValidatingAdmissionPolicy',
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: ['x.example.com'], apiVersions: ['v1'], resources: ['y'], operations: ['CREATE'] },
        ],
      },
      variables: many(n, (i) => ({ name: `v${i}`, expression: 'true' })),
      validations: [{ expression: 'true' }],
    },
  })),
  create('flow rules', 1_500, (n) => ({
    apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
    kind: 'FlowSchema',
    spec: {
      matchingPrecedence: 9_000,
      priorityLevelConfiguration: { name: 'nowhere' },
      rules: many(n, (i) => ({
        subjects: [{ kind: 'User', user: { name: `u${i}` } }],
        nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }],
      })),
    },
  })),

  change(
    'operations of a JSON patch',
    2_400,
    () => ({ kind: 'ConfigMap', data: {} }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: jsonPatch,
      body: many(n, (i) => ({ op: 'add', path: `/data/k${i}`, value: 'v' })),
    }),
  ),
  change(
    'JSON patch at the head of a list',
    2_400,
    () => ({ kind: 'ConfigMap', metadata: { finalizers: ['example.com/a'] } }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: jsonPatch,
      body: many(n, (i) => ({ op: 'add', path: '/metadata/finalizers/0', value: `example.com/f${i}` })),
    }),
  ),
  change(
    'JSON patch that tests',
    2_400,
    () => ({ kind: 'ConfigMap', data: data(5_000) }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: jsonPatch,
      body: many(n, () => ({ op: 'test', path: '/kind', value: 'ConfigMap' })),
    }),
  ),
  change(
    'merge patch',
    15_000,
    () => ({ kind: 'ConfigMap' }),
    (n, path) => ({ method: 'PATCH', path, headers: merge, body: { data: data(n) } }),
  ),
  change(
    'merge patch that removes',
    15_000,
    (n) => ({ kind: 'ConfigMap', data: data(n) }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: merge,
      body: {
        data: record(
          n,
          (i) => `key-${i}`,
          () => null,
        ),
      },
    }),
  ),
  change(
    'strategic patch of labels',
    10_000,
    () => ({ kind: 'ConfigMap' }),
    (n, path) => ({ method: 'PATCH', path, headers: strategic, body: { metadata: { labels: labels(n) } } }),
  ),
  change(
    'strategic patch of tolerations',
    5_000,
    () => pod({}),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: strategic,
      body: { spec: { tolerations: many(n, (i) => ({ key: `k${i}`, operator: 'Exists' })) } },
    }),
  ),
  change(
    'strategic patch of env',
    5_000,
    (n) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ ...container, env: env(n) }] } },
      },
    }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: strategic,
      body: {
        spec: {
          template: {
            spec: { containers: [{ name: 'main', env: many(n, (i) => ({ name: `V${i}`, value: 'w' })) }] },
          },
        },
      },
    }),
  ),
  change(
    'strategic patch with an order',
    5_000,
    (n) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ ...container, env: env(n) }] } },
      },
    }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: strategic,
      body: {
        spec: {
          template: {
            spec: {
              containers: [
                {
                  name: 'main',
                  '$setElementOrder/env': many(n, (i) => ({ name: `V${n - 1 - i}` })),
                  env: [{ name: 'V0', value: 'w' }],
                },
              ],
            },
          },
        },
      },
    }),
  ),
  change(
    'strategic patch that deletes',
    5_000,
    (n) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ ...container, env: env(n) }] } },
      },
    }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: strategic,
      body: {
        spec: {
          template: {
            spec: {
              containers: [{ name: 'main', env: many(n, (i) => ({ name: `V${i}`, $patch: 'delete' })) }],
            },
          },
        },
      },
    }),
  ),
  change(
    'strategic patch of finalizers',
    10_000,
    (n) => ({ kind: 'ConfigMap', metadata: { finalizers: many(n, (i) => `example.com/f${i}`) } }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: strategic,
      body: { metadata: { finalizers: many(n, (i) => `example.com/g${i}`) } },
    }),
  ),
  change(
    'strategic deletion of finalizers',
    10_000,
    (n) => ({ kind: 'ConfigMap', metadata: { finalizers: many(n, (i) => `example.com/f${i}`) } }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: strategic,
      body: { metadata: { '$deleteFromPrimitiveList/finalizers': many(n, (i) => `example.com/f${i}`) } },
    }),
  ),
  change(
    'strategic patch of owners',
    5_000,
    (n) => ({ kind: 'ConfigMap', metadata: { ownerReferences: owners(n) } }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: strategic,
      body: { metadata: { ownerReferences: owners(n).map((owner) => ({ ...owner, controller: false })) } },
    }),
  ),
  change(
    'apply of data',
    10_000,
    (n) => ({ kind: 'ConfigMap', data: data(n) }),
    (n, path, name) => ({
      method: 'PATCH',
      path: `${path}?fieldManager=a&force=true`,
      headers: apply,
      body: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name },
        data: record(
          n,
          (i) => `key-${i}`,
          () => 'w',
        ),
      },
    }),
  ),
  change(
    'apply of env',
    5_000,
    (n) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ ...container, env: env(n) }] } },
      },
    }),
    (n, path, name) => ({
      method: 'PATCH',
      path: `${path}?fieldManager=a&force=true`,
      headers: apply,
      body: {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name },
        spec: {
          template: {
            spec: { containers: [{ name: 'main', env: many(n, (i) => ({ name: `V${i}`, value: 'w' })) }] },
          },
        },
      },
    }),
  ),
  change(
    'apply of finalizers',
    10_000,
    () => ({ kind: 'ConfigMap' }),
    (n, path, name) => ({
      method: 'PATCH',
      path: `${path}?fieldManager=a`,
      headers: apply,
      body: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, finalizers: many(n, (i) => `example.com/f${i}`) },
      },
    }),
  ),
  change(
    'apply beside many managers',
    1_000,
    (n) => ({
      kind: 'ConfigMap',
      data: data(2),
      metadata: {
        managedFields: managed(n, (i) => `k${i}`).map((entry) => ({ ...entry, operation: 'Apply' })),
      },
    }),
    (_n, path, name) => ({
      method: 'PATCH',
      path: `${path}?fieldManager=a`,
      headers: apply,
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { a: 'b' } },
    }),
  ),
  change(
    'put of managed fields',
    4_000,
    () => ({ kind: 'ConfigMap' }),
    (n, path, name) => ({
      method: 'PUT',
      path,
      body: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, managedFields: managed(n, (i) => `k${i}`) },
        data: { a: 'b' },
      },
    }),
  ),
  change(
    'put of labels',
    10_000,
    (n) => ({ kind: 'ConfigMap', metadata: { labels: labels(n) } }),
    (n, path, name) => ({
      method: 'PUT',
      path,
      body: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {
          name,
          labels: record(
            n,
            (i) => `label-${i}`,
            () => 'w',
          ),
        },
      },
    }),
  ),
  change(
    'put of env',
    10_000,
    (n) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ ...container, env: env(n) }] } },
      },
    }),
    (n, path, name) => ({
      method: 'PUT',
      path,
      body: {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name },
        spec: {
          selector: { matchLabels: { a: 'b' } },
          template: {
            metadata: { labels: { a: 'b' } },
            spec: { containers: [{ ...container, env: [...env(n)].reverse() }] },
          },
        },
      },
    }),
  ),
  change(
    'put of tolerations',
    6_000,
    (n) => pod({ tolerations: many(n, (i) => ({ key: `k${i}`, operator: 'Exists' })) }),
    (n, path, name) => ({
      method: 'PUT',
      path,
      body: {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: {
          containers: [container],
          tolerations: many(n + 1, (i) => ({ key: `k${i}`, operator: 'Exists' })),
        },
      },
    }),
  ),
];
