/** What is deployed: the definition, the pod and service of the webhook, and the configurations that name the service. */
import {
  ApiException,
  type KubeConfig,
  type KubernetesObject,
  KubernetesObjectApi,
} from '@kubernetes/client-node';
import { definition, group, plural, version } from './website.ts';

const name = 'website-webhook';
const labels = { app: name };
const waitMs = 60_000;
const pauseMs = 200;

export interface WebhookProgram {
  /** Its code, as JavaScript. */
  readonly code: string;
  /** Certificate for `website-webhook.NAMESPACE.svc`, its key and its authority, in PEM. */
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  readonly port: number;
}

export const webhookHost = (namespace: string): string => `${name}.${namespace}.svc`;

/** Creates everything that is not there yet; resolves when the webhook answers. */
export async function deploy(config: KubeConfig, namespace: string, program: WebhookProgram): Promise<void> {
  const api = KubernetesObjectApi.makeApiClient(config);
  for (const object of [definition, ...webhookObjects(namespace, program)]) await ensure(api, object);
  await until(async () => {
    const endpoints = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name, namespace } };
    const { subsets } = (await api.read(endpoints)) as { subsets?: { addresses?: unknown[] }[] };
    return subsets?.some(({ addresses = [] }) => addresses.length > 0) ?? false;
  });
  for (const object of configurations(namespace, program)) await ensure(api, object);
}

function webhookObjects(namespace: string, { code, cert, key, port }: WebhookProgram): KubernetesObject[] {
  const secretValue = (item: string) => ({ valueFrom: { secretKeyRef: { name, key: item } } });
  const objects = [
    { kind: 'ConfigMap', metadata: { name }, data: { program: code } },
    {
      kind: 'Secret',
      metadata: { name },
      type: 'kubernetes.io/tls',
      stringData: { 'tls.crt': cert, 'tls.key': key },
    },
    {
      kind: 'Pod',
      metadata: { name, labels },
      spec: {
        containers: [
          {
            name: 'webhook',
            image: 'node',
            command: ['sh', '-c', 'exec node --input-type=module -e "$PROGRAM"'],
            ports: [{ containerPort: port }],
            env: [
              { name: 'PROGRAM', valueFrom: { configMapKeyRef: { name, key: 'program' } } },
              { name: 'PORT', value: String(port) },
              { name: 'TLS_CERT', ...secretValue('tls.crt') },
              { name: 'TLS_KEY', ...secretValue('tls.key') },
            ],
            readinessProbe: { httpGet: { path: '/', port, scheme: 'HTTPS' }, periodSeconds: 1 },
          },
        ],
      },
    },
    {
      kind: 'Service',
      metadata: { name },
      spec: { selector: labels, ports: [{ port: 443, targetPort: port }] },
    },
  ];
  return objects.map((object) => ({
    apiVersion: 'v1',
    ...object,
    metadata: { ...object.metadata, namespace },
  }));
}

function configurations(namespace: string, { ca }: WebhookProgram): KubernetesObject[] {
  const webhook = (path: string) => ({
    name: `${path}.${plural}.${group}`,
    clientConfig: {
      service: { namespace, name, path: `/${path}` },
      caBundle: Buffer.from(ca).toString('base64'),
    },
    rules: [
      { operations: ['CREATE', 'UPDATE'], apiGroups: [group], apiVersions: [version], resources: [plural] },
    ],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  });
  const configuration = (kind: string, path: string) => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name: plural },
    webhooks: [webhook(path)],
  });
  return [
    configuration('MutatingWebhookConfiguration', 'default'),
    configuration('ValidatingWebhookConfiguration', 'check'),
  ];
}

async function ensure(api: KubernetesObjectApi, object: KubernetesObject): Promise<void> {
  try {
    await api.create(object);
  } catch (error) {
    if (!(error instanceof ApiException && error.code === 409)) throw error;
  }
}

async function until(done: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + waitMs;
  for (;;) {
    if (await done().catch(() => false)) return;
    if (performance.now() > end) throw new Error(`the webhook was not ready within ${waitMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
