/** The smallest objects that make sense, by kind: what their metadata has beside a name, and all other fields. */
import type { Json } from '../../core/objects.ts';

const labels = { app: 'example' };
const selector = { matchLabels: labels };
const container = { name: 'main', image: 'nginx:1.29' };
const pod = { containers: [container] };
const template = { metadata: { labels }, spec: pod };
const once = {
  restartPolicy: 'Never',
  containers: [{ ...container, image: 'busybox:1.37', command: ['date'] }],
};
const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }];
const subjects = [{ kind: 'ServiceAccount', name: 'default', namespace: 'default' }];
const roleRef = (kind: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name: 'view' });
const webhook = {
  name: 'example.example.com',
  clientConfig: { service: { namespace: 'default', name: 'example', path: '/' } },
  rules: [
    { apiGroups: ['example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['examples'] },
  ],
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  failurePolicy: 'Ignore',
};
const matchConstraints = {
  resourceRules: [
    { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['deployments'] },
  ],
};

export const smallObjects: Readonly<Record<string, Json>> = {
  pods: { metadata: { labels }, spec: pod },
  podtemplates: { template },
  replicationcontrollers: { spec: { replicas: 1, selector: labels, template } },
  'deployments.apps': { spec: { replicas: 2, selector, template } },
  'statefulsets.apps': { spec: { serviceName: 'example', replicas: 1, selector, template } },
  'daemonsets.apps': { spec: { selector, template } },
  'replicasets.apps': { spec: { replicas: 1, selector, template } },
  'controllerrevisions.apps': { data: {}, revision: 1 },
  'jobs.batch': { spec: { template: { spec: once } } },
  'cronjobs.batch': {
    spec: { schedule: '*/15 * * * *', jobTemplate: { spec: { template: { spec: once } } } },
  },
  services: { spec: { selector: labels, ports: [{ port: 80, targetPort: 80 }] } },
  endpoints: { subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80 }] }] },
  'endpointslices.discovery.k8s.io': {
    metadata: { labels: { 'kubernetes.io/service-name': 'example' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['192.0.2.1'] }],
    ports: [{ port: 80 }],
  },
  'ingresses.networking.k8s.io': {
    spec: {
      rules: [
        {
          host: 'example.com',
          http: {
            paths: [
              {
                path: '/',
                pathType: 'Prefix',
                backend: { service: { name: 'example', port: { number: 80 } } },
              },
            ],
          },
        },
      ],
    },
  },
  'ingressclasses.networking.k8s.io': { spec: { controller: 'example.com/ingress' } },
  'networkpolicies.networking.k8s.io': { spec: { podSelector: selector, policyTypes: ['Ingress'] } },
  'ipaddresses.networking.k8s.io': {
    metadata: { name: '192.0.2.1' },
    spec: { parentRef: { resource: 'services', namespace: 'default', name: 'example' } },
  },
  'servicecidrs.networking.k8s.io': { spec: { cidrs: ['10.96.0.0/24'] } },
  configmaps: { data: { key: 'value' } },
  secrets: { type: 'Opaque', stringData: { password: 'change me' } },
  serviceaccounts: {},
  namespaces: {},
  nodes: {},
  events: {
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'example' },
    type: 'Normal',
    reason: 'Example',
    message: 'An event made by hand.',
  },
  'events.events.k8s.io': {
    eventTime: '2030-01-01T00:00:00.000000Z',
    action: 'Example',
    reason: 'Example',
    type: 'Normal',
    note: 'An event made by hand.',
    regarding: { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'example' },
    reportingController: 'example.com/example',
    reportingInstance: 'example',
  },
  limitranges: { spec: { limits: [{ type: 'Container', default: { cpu: '500m', memory: '256Mi' } }] } },
  resourcequotas: { spec: { hard: { pods: '20', 'requests.cpu': '4', 'requests.memory': '8Gi' } } },
  persistentvolumeclaims: {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  },
  persistentvolumes: {
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      hostPath: { path: '/tmp/example' },
    },
  },
  'storageclasses.storage.k8s.io': {
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  },
  'csidrivers.storage.k8s.io': { spec: { attachRequired: false } },
  'csinodes.storage.k8s.io': { spec: { drivers: [] } },
  'csistoragecapacities.storage.k8s.io': { storageClassName: 'example', capacity: '1Gi' },
  'volumeattachments.storage.k8s.io': {
    spec: { attacher: 'example.com', nodeName: 'example', source: { persistentVolumeName: 'example' } },
  },
  'volumeattributesclasses.storage.k8s.io': { driverName: 'example.com', parameters: { iops: '1000' } },
  'horizontalpodautoscalers.autoscaling': {
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'example' },
      minReplicas: 1,
      maxReplicas: 5,
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
        },
      ],
    },
  },
  'horizontalpodautoscalers.extensions': {
    spec: {
      scaleRef: { kind: 'Deployment', name: 'example', subresource: 'scale' },
      minReplicas: 1,
      maxReplicas: 5,
    },
  },
  'ingresses.extensions': { spec: { backend: { serviceName: 'example', servicePort: 80 } } },
  'jobs.extensions': { spec: { selector, template: { metadata: { labels }, spec: once } } },
  'poddisruptionbudgets.policy': { spec: { minAvailable: 1, selector } },
  'priorityclasses.scheduling.k8s.io': { value: 1000, description: 'Above all others.' },
  'runtimeclasses.node.k8s.io': { handler: 'runc' },
  'leases.coordination.k8s.io': { spec: { holderIdentity: 'example', leaseDurationSeconds: 30 } },
  'leasecandidates.coordination.k8s.io': {
    spec: {
      leaseName: 'example',
      binaryVersion: '1.0.0',
      emulationVersion: '1.0.0',
      strategy: 'OldestEmulationVersion',
    },
  },
  'roles.rbac.authorization.k8s.io': { rules },
  'clusterroles.rbac.authorization.k8s.io': { rules },
  'rolebindings.rbac.authorization.k8s.io': { roleRef: roleRef('ClusterRole'), subjects },
  'clusterrolebindings.rbac.authorization.k8s.io': { roleRef: roleRef('ClusterRole'), subjects },
  'validatingwebhookconfigurations.admissionregistration.k8s.io': { webhooks: [webhook] },
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': { webhooks: [webhook] },
  'validatingadmissionpolicies.admissionregistration.k8s.io': {
    spec: {
      matchConstraints,
      validations: [{ expression: 'object.spec.replicas <= 5', message: 'at most five replicas' }],
    },
  },
  'validatingadmissionpolicybindings.admissionregistration.k8s.io': {
    spec: { policyName: 'example', validationActions: ['Deny'] },
  },
  'mutatingadmissionpolicies.admissionregistration.k8s.io': {
    spec: {
      matchConstraints,
      reinvocationPolicy: 'Never',
      failurePolicy: 'Fail',
      mutations: [
        {
          patchType: 'ApplyConfiguration',
          applyConfiguration: { expression: 'Object{metadata: Object.metadata{labels: {"example": "yes"}}}' },
        },
      ],
    },
  },
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io': { spec: { policyName: 'example' } },
  'customresourcedefinitions.apiextensions.k8s.io': {
    metadata: { name: 'boats.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'boats', singular: 'boat', kind: 'Boat' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec: { type: 'object', properties: { length: { type: 'integer' } } } },
            },
          },
        },
      ],
    },
  },
  'apiservices.apiregistration.k8s.io': {
    metadata: { name: 'v1.example.com' },
    spec: {
      group: 'example.com',
      version: 'v1',
      groupPriorityMinimum: 1000,
      versionPriority: 10,
      insecureSkipTLSVerify: true,
      service: { namespace: 'default', name: 'example', port: 443 },
    },
  },
  'certificatesigningrequests.certificates.k8s.io': {
    spec: {
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: ['client auth'],
      // A request for the user "example", whose key was thrown away.
      request:
        'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlITE1IUUNBUUF3RWpFUU1BNEdBMVVFQXd3SFpYaGhiWEJzWlRCWk1CTUdCeXFHU000OUFnRUdDQ3FHU000OQpBd0VIQTBJQUJKbWxTR1U5Y1d1eG1oZ2ZsWEdicWMvUjRjVW1lekRCUlVUSFVqc0RBdmdLVGsvYVcwUk01WFhYCnMxenFWelAvTHRNY3RqTTArYStyN2t0RHJLeEYvZUtnQURBS0JnZ3Foa2pPUFFRREFnTkhBREJFQWlCa2kycU0KRklLN2RHUTgyaFhCYktad0RKU29aRUd3YnpOS3dCbG0rNjZVWXdJZ0x4OW9POXV3dVB5L0Z4YnpzNkFuV2pHegpkWTJlUUtTcjVnaDJOTXZGanRBPQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K',
    },
  },
  'flowschemas.flowcontrol.apiserver.k8s.io': {
    spec: {
      priorityLevelConfiguration: { name: 'global-default' },
      matchingPrecedence: 5000,
      rules: [
        {
          subjects: [{ kind: 'Group', group: { name: 'system:authenticated' } }],
          resourceRules: [
            { apiGroups: ['*'], resources: ['*'], verbs: ['*'], namespaces: ['*'], clusterScope: true },
          ],
        },
      ],
    },
  },
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io': {
    spec: {
      type: 'Limited',
      limited: { nominalConcurrencyShares: 10, limitResponse: { type: 'Reject' } },
    },
  },
  'resourceclaims.resource.k8s.io': {
    spec: { devices: { requests: [{ name: 'one', exactly: { deviceClassName: 'example.com' } }] } },
  },
  'resourceclaimtemplates.resource.k8s.io': {
    spec: { spec: { devices: { requests: [{ name: 'one', exactly: { deviceClassName: 'example.com' } }] } } },
  },
  'deviceclasses.resource.k8s.io': {
    metadata: { name: 'example.com' },
    spec: { selectors: [{ cel: { expression: "device.driver == 'example.com'" } }] },
  },
  'resourceslices.resource.k8s.io': {
    spec: {
      driver: 'example.com',
      nodeName: 'example',
      pool: { name: 'example', generation: 1, resourceSliceCount: 1 },
      devices: [{ name: 'one' }],
    },
  },
};
