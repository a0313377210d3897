/** ServiceAccount: every pod runs as a service account of its namespace, with the account's token mounted. */
import { forbidden } from '../../api/errors/errors.ts';
import type { Container, Pod, PodSpec, Secret, ServiceAccount, Volume } from '../../api/generated/types.ts';
import { nameSuffix } from '../../api/kind/meta.ts';
import { mirrorAnnotation, podReferences, tokenAudiences } from '../../api/rules/pod/pod-references.ts';
import { tokenMountPath as mountPath, tokenVolumePrefix } from '../../api/rules/pod/pod-server-values.ts';
import type { AdmissionPlugin } from '../admission-chain.ts';
import type { Registry } from '../registry.ts';
import type { Target } from '../target.ts';
import { actingAs } from '../writers.ts';
import { ensureDefaultAccount } from './default-account.ts';

/** Lifetime of a mounted token: a little over an hour, so that the node agent renews it before an hour is over. */
const tokenSeconds = 3607;
/** As in Kubernetes' plugin, a pod waits up to a second for the default account of its namespace. */
const accountLooksMax = 10;
const accountPauseMs = 100;
const tokenType = 'kubernetes.io/service-account-token';

/** `tokenSecrets`: the token is mounted from a secret of the account, as in Kubernetes 1.1, not made for the pod. */
export const serviceAccountAdmission = (tokenSecrets: boolean): AdmissionPlugin => ({
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
      return defaultAccount(registry, namespace).then(() => runAs(registry, target, spec, tokenSecrets));
    return runAs(registry, target, spec, tokenSecrets);
  },
});

/** Waits for the default account; resolves when it exists or will not come. */
async function defaultAccount(registry: Registry, namespace: string): Promise<void> {
  for (let look = 1; ; look++) {
    await ensureDefaultAccount(registry, actingAs('kube-apiserver', 'create'), namespace);
    const isThere = registry.view.collection('core/serviceaccounts').get(namespace, 'default') !== undefined;
    if (isThere || look === accountLooksMax) return;
    await new Promise<void>((resolve) => registry.timers.set(resolve, accountPauseMs));
  }
}

/** Refuses mirror pods (static pods of a node) that name an account or use secrets or other things of accounts. */
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

function runAs(
  registry: Registry,
  target: Target,
  spec: PodSpec,
  tokenSecrets: boolean,
): void | Promise<void> {
  const { kind, namespace, name } = target;
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
  if (!(spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true)) return;
  if (tokenSecrets) return mountSecret(registry, target, spec, account);
  mountToken(registry, spec);
}

/** As in Kubernetes 1.1, the volume has the name of the secret, and a pod without a token is refused. */
async function mountSecret(
  registry: Registry,
  { kind, namespace, name }: Target,
  spec: PodSpec,
  account: ServiceAccount,
): Promise<void> {
  const without = withoutToken(spec);
  if (without.length === 0) return;
  const secretName = await tokenSecretOf(registry, account);
  if (secretName === undefined)
    throw forbidden(
      kind,
      name,
      `no API token found for service account ${namespace}/${account.metadata.name}, retry after the token is automatically created and added to the service account`,
    );
  const own = spec.volumes?.find(({ secret }) => secret?.secretName === secretName);
  const isTaken = spec.volumes?.some((volume) => volume.name === secretName);
  const suffix = isTaken ? `-${nameSuffix((bound) => registry.sources.randomBelow(bound))}` : '';
  const volume = own ?? { name: secretName + suffix, secret: { secretName, defaultMode: 0o644 } };
  if (!own) spec.volumes = [...(spec.volumes ?? []), volume];
  for (const container of without) mount(container, volume.name!);
}

/** The first secret of the account with its token; waits for it like for the default account. */
async function tokenSecretOf(registry: Registry, account: ServiceAccount): Promise<string | undefined> {
  const { namespace = '', name = '' } = account.metadata;
  for (let look = 1; ; look++) {
    const current = registry.view.collection('core/serviceaccounts').get(namespace, name)?.peek();
    const secrets = registry.view.collection('core/secrets');
    const found = ((current as ServiceAccount | undefined)?.secrets ?? []).find((reference) => {
      const secret = secrets.get(namespace, reference.name ?? '')?.peek() as Secret | undefined;
      return secret?.type === tokenType && secret.data?.['token'] !== undefined;
    });
    if (found || look === accountLooksMax) return found?.name;
    await new Promise<void>((resolve) => registry.timers.set(resolve, accountPauseMs));
  }
}

/** Adds the token volume, and mounts it in every container that has no other mount at the same path. */
function mountToken(registry: Registry, spec: PodSpec): void {
  const without = withoutToken(spec);
  if (without.length === 0) return;
  const name = `${tokenVolumePrefix}${nameSuffix((bound) => registry.sources.randomBelow(bound))}`;
  spec.volumes = [...(spec.volumes ?? []), tokenVolume(name)];
  for (const container of without) mount(container, name);
}

/** Containers without a mount at the token's path. */
const withoutToken = ({ initContainers = [], containers = [] }: PodSpec): Container[] =>
  [...initContainers, ...containers].filter(
    ({ volumeMounts }) => !volumeMounts?.some((mount) => mount.mountPath === mountPath),
  );

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
