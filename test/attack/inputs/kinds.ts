/** Lists in objects of other kinds. */
import { container, create, type ListInput, labels, many, networking, rbac } from './shapes.ts';

export const kinds: readonly ListInput[] = [
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
];
