/** ServiceAccount: every pod runs as a service account of its namespace, with the account's token mounted. */
import { forbidden } from '../../api/errors/errors.ts';
import type { Container, Pod, PodSpec, ServiceAccount, Volume } from '../../api/generated/types.ts';
import { nameSuffix } from '../../api/kind/meta.ts';
import { mirrorAnnotation, podReferences, tokenAudiences } from '../../api/rules/pod/pod-references.ts';
import { tokenVolumePrefix } from '../../api/rules/pod/pod-server-values.ts';
import type { AdmissionPlugin } from '../admission-chain.ts';
import type { Registry } from '../registry.ts';
import type { Target } from '../target.ts';
import { actingAs } from '../writers.ts';
import { ensureDefaultAccount } from './default-account.ts';

const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Lifetime of a mounted token: a little over an hour, so that the node agent renews it before an hour is over. */
const tokenSeconds = 3607;
/** As in Kubernetes' plugin, a pod waits up to a second for the default account of its namespace. */
const accountLooksMax = 10;
const accountPauseMs = 100;

export const serviceAccountAdmission: AdmissionPlugin = {
  name: 'ServiceAccount',
  kinds: ['core/pods'],

  mutate(registry, { operation, target, object }) {
    const { namespace } = target;
    if (operation !== 'create') return;
    const spec = ((object as Pod).spec ??= {});
    if (object!.metadata.annotations?.[mirrorAnnotation] !== undefined) return checkMirror(target, spec);
    spec.serviceAccountName ||= 'default';
    spec.serviceAccount = spec.serviceAccountName;
    const accounts = registry.view.collection('core/serviceaccounts');
    // Create the default account here if its controller has not done so yet, so that a pod in a new namespace is
    // accepted.
    if (spec.serviceAccountName === 'default' && !accounts.get(namespace, 'default'))
      return defaultAccount(registry, namespace).then(() => runAs(registry, target, spec));
    runAs(registry, target, spec);
  },
};

/** Resolves when the account is there, or will not come. */
async function defaultAccount(registry: Registry, namespace: string): Promise<void> {
  for (let look = 1; ; look++) {
    await ensureDefaultAccount(registry, actingAs('kube-apiserver', 'create'), namespace);
    const isThere = registry.view.collection('core/serviceaccounts').get(namespace, 'default') !== undefined;
    if (isThere || look === accountLooksMax) return;
    await new Promise<void>((resolve) => registry.timers.set(resolve, accountPauseMs));
  }
}

/** A pod that a node runs by itself has no account, and nothing that is given to accounts. */
function checkMirror({ kind, name }: Target, spec: PodSpec): void {
  const reference =
    spec.serviceAccountName || spec.serviceAccount
      ? 'reference service accounts'
      : podReferences(name, spec).secrets.length
        ? 'reference secrets'
        : tokenAudiences(spec).length
          ? 'use ServiceAccountToken volume projections'
          : undefined;
  if (reference) throw forbidden(kind, name, `a mirror pod may not ${reference}`);
}

function runAs(registry: Registry, { kind, namespace, name }: Target, spec: PodSpec): void {
  const account = registry.view
    .collection('core/serviceaccounts')
    .get(namespace, spec.serviceAccountName!)
    ?.peek() as ServiceAccount | undefined;
  if (!account)
    throw forbidden(
      kind,
      name,
      `error looking up service account ${namespace}/${spec.serviceAccountName}: serviceaccount ${JSON.stringify(spec.serviceAccountName)} not found`,
    );
  if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length)
    spec.imagePullSecrets = account.imagePullSecrets.map(({ name: secret }) => ({ name: secret }));
  if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true)
    mountToken(registry, spec);
}

/** Adds the token volume, and mounts it in every container that has no other mount at the same path. */
function mountToken(registry: Registry, spec: PodSpec): void {
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  const without = containers.filter(
    (container) => !container.volumeMounts?.some((mount) => mount.mountPath === mountPath),
  );
  if (without.length === 0) return;
  const name = `${tokenVolumePrefix}${nameSuffix((bound) => registry.sources.randomBelow(bound))}`;
  spec.volumes = [...(spec.volumes ?? []), tokenVolume(name)];
  for (const container of without) mount(container, name);
}

function mount(container: Container, name: string): void {
  container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath }];
}

const tokenVolume = (name: string): Volume => ({
  name,
  projected: {
    defaultMode: 0o644,
    sources: [
      { serviceAccountToken: { expirationSeconds: tokenSeconds, path: 'token' } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      {
        downwardAPI: {
          items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
        },
      },
    ],
  },
});
