/** What other objects a pod or a volume names: secrets, config maps, claims. */
import type {
  Container,
  LocalObjectReference,
  PersistentVolume,
  PodSpec,
  SecretReference,
  Volume,
} from '../../generated/types.ts';

/** Names in the namespace of the pod; they may come several times. */
export interface PodReferences {
  readonly secrets: readonly string[];
  readonly configMaps: readonly string[];
  readonly claims: readonly string[];
}

/** A pod is a mirror of one that its node runs by itself when it has this annotation. */
export const mirrorAnnotation = 'kubernetes.io/config.mirror';

export function podReferences(podName: string, spec: PodSpec): PodReferences {
  const secrets = (spec.imagePullSecrets ?? []).map(nameOf);
  const configMaps: string[] = [];
  const claims: string[] = [];
  const containers = [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...((spec.ephemeralContainers ?? []) as Container[]),
  ];
  for (const { env, envFrom } of containers) {
    for (const { secretRef, configMapRef } of envFrom ?? []) {
      secrets.push(nameOf(secretRef));
      configMaps.push(nameOf(configMapRef));
    }
    for (const { valueFrom } of env ?? []) {
      secrets.push(nameOf(valueFrom?.secretKeyRef));
      configMaps.push(nameOf(valueFrom?.configMapKeyRef));
    }
  }
  for (const volume of spec.volumes ?? []) {
    secrets.push(...volumeSecrets(volume));
    configMaps.push(nameOf(volume.configMap));
    for (const source of volume.projected?.sources ?? []) {
      secrets.push(nameOf(source.secret));
      configMaps.push(nameOf(source.configMap));
    }
    claims.push(volume.persistentVolumeClaim?.claimName ?? '');
    if (volume.ephemeral) claims.push(`${podName}-${volume.name}`);
  }
  return { secrets: named(secrets), configMaps: named(configMaps), claims: named(claims) };
}

const volumeSecrets = (volume: Volume): string[] => [
  volume.secret?.secretName ?? '',
  volume.azureFile?.secretName ?? '',
  ...[
    volume.cephfs?.secretRef,
    volume.cinder?.secretRef,
    volume.flexVolume?.secretRef,
    volume.rbd?.secretRef,
    volume.scaleIO?.secretRef,
    volume.iscsi?.secretRef,
    volume.storageos?.secretRef,
    volume.csi?.nodePublishSecretRef,
  ].map(nameOf),
];

/** Namespace and name of the secrets that a volume is mounted with. Those without a namespace are in that of its claim. */
export function volumeSecretPlaces({ spec = {} }: PersistentVolume): [namespace: string, name: string][] {
  const ofClaim = spec.claimRef?.namespace ?? '';
  const { csi, azureFile } = spec;
  const references: (SecretReference | undefined)[] = [
    azureFile && { name: azureFile.secretName, namespace: azureFile.secretNamespace },
    spec.cephfs?.secretRef,
    spec.cinder?.secretRef,
    spec.flexVolume?.secretRef,
    spec.rbd?.secretRef,
    spec.scaleIO?.secretRef,
    spec.iscsi?.secretRef,
    spec.storageos?.secretRef,
    csi?.controllerPublishSecretRef,
    csi?.nodePublishSecretRef,
    csi?.nodeStageSecretRef,
    csi?.controllerExpandSecretRef,
    csi?.nodeExpandSecretRef,
  ];
  return references.flatMap((reference) =>
    reference?.name ? [[reference.namespace || ofClaim, reference.name] as [string, string]] : [],
  );
}

/** Audiences of the tokens that are projected into a pod; '' is that of the server. */
export const tokenAudiences = ({ volumes }: PodSpec): string[] =>
  (volumes ?? []).flatMap(({ projected }) =>
    (projected?.sources ?? []).flatMap(({ serviceAccountToken }) =>
      serviceAccountToken ? [serviceAccountToken.audience ?? ''] : [],
    ),
  );

const nameOf = (reference: LocalObjectReference | undefined): string => reference?.name ?? '';
const named = (names: readonly string[]): string[] => names.filter(Boolean);
