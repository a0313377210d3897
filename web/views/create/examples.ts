/** Examples with what people add next, for kinds that they create often. They have the form of `smallObjects`. */
import type { Json } from '../../core/objects.ts';

const labels = { app: 'example' };
const selector = { matchLabels: labels };
const resources = { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '128Mi' } };
const probe = { httpGet: { path: '/', port: 'http' }, periodSeconds: 10 };
const container = {
  name: 'main',
  image: 'nginx:1.29',
  ports: [{ name: 'http', containerPort: 80 }],
  env: [{ name: 'LEVEL', value: 'info' }],
  resources,
  readinessProbe: probe,
  livenessProbe: { ...probe, initialDelaySeconds: 10 },
};
const template = { metadata: { labels }, spec: { containers: [container] } };
const job = {
  backoffLimit: 3,
  ttlSecondsAfterFinished: 3600,
  template: {
    spec: {
      restartPolicy: 'Never',
      containers: [
        { name: 'main', image: 'busybox:1.37', command: ['sh', '-c', 'echo working; sleep 5'], resources },
      ],
    },
  },
};

export const examples: Readonly<Record<string, Json>> = {
  pods: {
    metadata: { labels },
    spec: {
      initContainers: [{ name: 'prepare', image: 'busybox:1.37', command: ['sh', '-c', 'echo ready'] }],
      containers: [{ ...container, volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }] }],
      volumes: [{ name: 'scratch', emptyDir: {} }],
    },
  },
  'deployments.apps': {
    metadata: { labels },
    spec: {
      replicas: 3,
      selector,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template,
    },
  },
  'statefulsets.apps': {
    spec: {
      serviceName: 'example',
      replicas: 2,
      selector,
      template: {
        metadata: { labels },
        spec: { containers: [{ ...container, volumeMounts: [{ name: 'data', mountPath: '/data' }] }] },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: 'data' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      ],
    },
  },
  'daemonsets.apps': {
    spec: {
      selector,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } },
      template: { ...template, spec: { ...template.spec, tolerations: [{ operator: 'Exists' }] } },
    },
  },
  'jobs.batch': { spec: { completions: 3, parallelism: 2, ...job } },
  'cronjobs.batch': {
    spec: {
      schedule: '30 2 * * 1-5',
      timeZone: 'Etc/UTC',
      concurrencyPolicy: 'Forbid',
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 3,
      jobTemplate: { spec: job },
    },
  },
  services: {
    metadata: { labels },
    spec: {
      type: 'NodePort',
      selector: labels,
      ports: [{ name: 'http', port: 80, targetPort: 'http' }],
      sessionAffinity: 'ClientIP',
    },
  },
  'ingresses.networking.k8s.io': {
    spec: {
      tls: [{ hosts: ['example.com'], secretName: 'example-tls' }],
      rules: [
        {
          host: 'example.com',
          http: {
            paths: [
              {
                path: '/api',
                pathType: 'Prefix',
                backend: { service: { name: 'api', port: { name: 'http' } } },
              },
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
  'networkpolicies.networking.k8s.io': {
    spec: {
      podSelector: selector,
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [{ podSelector: { matchLabels: { app: 'client' } } }], ports: [{ port: 80 }] }],
      egress: [{ to: [{ namespaceSelector: {} }], ports: [{ protocol: 'UDP', port: 53 }] }],
    },
  },
  configmaps: { data: { level: 'info', 'settings.yaml': 'colour: blue\nsize: 3\n' } },
  secrets: {
    type: 'kubernetes.io/basic-auth',
    stringData: { username: 'example', password: 'change me' },
  },
  'horizontalpodautoscalers.autoscaling': {
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'example' },
      minReplicas: 2,
      maxReplicas: 10,
      metrics: ['cpu', 'memory'].map((name) => ({
        type: 'Resource',
        resource: { name, target: { type: 'Utilization', averageUtilization: 75 } },
      })),
      behavior: { scaleDown: { stabilizationWindowSeconds: 120 } },
    },
  },
};
