/** The files of a volume that shows API objects: names, content, modes and owners. */
import type {
  ConfigMap,
  DownwardAPIVolumeFile,
  KeyToPath,
  Node,
  Pod,
  Secret,
  Volume,
  VolumeProjection,
} from '../../api/generated/types.ts';
import { tokenMountPath } from '../../api/rules/pod/pod-server-values.ts';
import type { ConfigObjects, Freshness, ShownObject } from '../environment/config-objects.ts';
import { containerResource, podField } from '../environment/downward.ts';
import type { PodTokens } from '../environment/pod-tokens.ts';
import type { ProjectedFile } from './atomic-folder.ts';

const modeDefault = 0o644;
const modeMax = 0o777;
/** The mode of secrets in Kubernetes 1.1. */
const oldSecretMode = 0o444;
/**
 * Every pod mounts this config map to get the certificate of the API server. A cluster that serves plain HTTP
 * has no certificate, and its pods must start nevertheless: so the file is left out until there is one.
 */
const rootCertificates = 'kube-root-ca.crt';

export interface FileContext {
  readonly pod: Pod;
  readonly node: Node;
  readonly podIP: string;
  readonly hostIP: string;
  readonly objects: ConfigObjects;
  readonly tokens: PodTokens;
  readonly freshness: Freshness;
}

type Files = Map<string, ProjectedFile>;

/** Whether a volume shows API objects: its files follow them, and containers cannot write to it. */
export const showsObjects = ({ secret, configMap, downwardAPI, projected }: Volume): boolean =>
  Boolean(secret ?? configMap ?? downwardAPI ?? projected);

/**
 * Whether files are written as Kubernetes 1.1 wrote them: secrets and the downward API in pods that get their token from
 * a secret (`--service-account-token-secrets`), which its programs expect to be plain files.
 */
export function showsOldFiles({ secret, downwardAPI }: Volume, { spec = {} }: Pod): boolean {
  if (!secret && !downwardAPI) return false;
  const { volumes = [], initContainers = [], containers = [] } = spec;
  const tokens = new Set(
    [...initContainers, ...containers].flatMap(({ volumeMounts = [] }) =>
      volumeMounts.filter(({ mountPath }) => mountPath === tokenMountPath).map(({ name }) => name),
    ),
  );
  return volumes.some((volume) => volume.secret && tokens.has(volume.name));
}

/** Whether the volume shows labels or annotations of the pod, which may change during its life. */
export function showsLabels({ downwardAPI, projected }: Volume): boolean {
  const items = [downwardAPI, ...(projected?.sources ?? []).map((source) => source.downwardAPI)];
  return items.some((each) =>
    each?.items?.some(({ fieldRef }) => /^metadata\.(labels|annotations)/.test(fieldRef?.fieldPath ?? '')),
  );
}

/**
 * The config maps and secrets whose changes a volume shows at once. The certificates of the API server, which every pod
 * mounts and which hardly ever change, are not among them.
 */
export function shownObjects({ secret, configMap, projected }: Volume, namespace: string): ShownObject[] {
  const sources = [
    { configMap, secret: secret && { name: secret.secretName } },
    ...(projected?.sources ?? []),
  ];
  return sources.flatMap((source) => [
    ...namesOf(source.configMap, 'configmaps', namespace),
    ...namesOf(source.secret, 'secrets', namespace),
  ]);
}

const namesOf = (
  source: { readonly name?: string } | undefined,
  resource: ShownObject['resource'],
  namespace: string,
): ShownObject[] => {
  const { name } = source ?? {};
  return name === undefined || name === rootCertificates ? [] : [{ resource, namespace, name }];
};

export async function volumeFiles(volume: Volume, context: FileContext): Promise<Files> {
  const { secret, configMap, downwardAPI, projected } = volume;
  const isOld = showsOldFiles(volume, context.pod);
  const asked = (secret ?? configMap ?? downwardAPI ?? projected)?.defaultMode ?? modeDefault;
  const mode = isOld && secret && asked === modeDefault ? oldSecretMode : asked;
  if (projected) return projectedFiles(projected.sources ?? [], mode, context);
  const source: VolumeProjection = {
    configMap,
    downwardAPI,
    ...(secret ? { secret: { ...secret, name: secret.secretName } } : {}),
  };
  const files = await sourceFiles(source, mode, context);
  return isOld && downwardAPI ? withLineEnds(files, downwardAPI.items ?? []) : files;
}

/** Kubernetes 1.1 ended every line of labels and annotations, also the last one. */
function withLineEnds(files: Files, items: readonly DownwardAPIVolumeFile[]): Files {
  const ended = new Map(files);
  for (const { path = '', fieldRef } of items) {
    const file = files.get(path);
    const isMap = /^metadata\.(labels|annotations)$/.test(fieldRef?.fieldPath ?? '');
    if (file?.data.length && isMap) ended.set(path, { ...file, data: Buffer.from(`${file.data}\n`) });
  }
  return ended;
}

/** Tries all sources, so that everything missing is reported at once. Of two files with one path the later wins. */
async function projectedFiles(
  sources: readonly VolumeProjection[],
  mode: number,
  context: FileContext,
): Promise<Files> {
  const files: Files = new Map();
  const problems: string[] = [];
  for (const source of sources) {
    try {
      for (const [path, file] of await sourceFiles(source, mode, context)) files.set(path, file);
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  if (problems.length) throw new Error(problems.length > 1 ? `[${problems.join(', ')}]` : problems[0]);
  return files;
}

async function sourceFiles(source: VolumeProjection, mode: number, context: FileContext): Promise<Files> {
  if (source.secret) return secretFiles(source.secret, mode, context);
  if (source.configMap) return configMapFiles(source.configMap, mode, context);
  if (source.downwardAPI) return downwardFiles(source.downwardAPI.items ?? [], mode, context);
  if (source.serviceAccountToken) return tokenFile(source.serviceAccountToken, mode, context);
  const [kind] = Object.keys(source);
  if (kind) throw new Error(`${kind} is not supported by this node`);
  return new Map();
}

interface ObjectSource {
  readonly name?: string;
  readonly items?: KeyToPath[];
  readonly optional?: boolean;
}

async function secretFiles(source: ObjectSource, mode: number, context: FileContext): Promise<Files> {
  const { name = '', optional = false } = source;
  const secret = await context.objects.secret(context.pod.metadata.namespace ?? '', name, context.freshness);
  if (!secret && !optional) throw new Error(`secret ${JSON.stringify(name)} not found`);
  return pickFiles(secretData(secret), source, mode, 'references non-existent secret key');
}

async function configMapFiles(source: ObjectSource, mode: number, context: FileContext): Promise<Files> {
  const { name = '', optional = false } = source;
  const namespace = context.pod.metadata.namespace ?? '';
  const configMap = await context.objects.configMap(namespace, name, context.freshness);
  if (!configMap && name === rootCertificates) return new Map();
  if (!configMap && !optional) throw new Error(`configmap ${JSON.stringify(name)} not found`);
  return pickFiles(configMapData(configMap), source, mode, 'configmap references non-existent config key');
}

type Data = Map<string, Buffer>;

const secretData = (secret: Secret | undefined): Data => decoded(secret?.data);

function configMapData(configMap: ConfigMap | undefined): Data {
  const texts = Object.entries(configMap?.data ?? {});
  return new Map([
    ...texts.map(([key, text]): [string, Buffer] => [key, Buffer.from(text, 'utf8')]),
    ...decoded(configMap?.binaryData),
  ]);
}

const decoded = (data: Record<string, string> = {}): Data =>
  new Map(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64')]));

/** All keys, or the `items` at their paths. */
function pickFiles(data: Data, { items, optional }: ObjectSource, mode: number, missing: string): Files {
  if (!items?.length)
    return new Map([...data].map(([key, bytes]) => [key, { data: bytes, mode: mode & modeMax }]));
  const files: Files = new Map();
  for (const { key = '', path = '', mode: own } of items) {
    const bytes = data.get(key);
    if (bytes) files.set(path, { data: bytes, mode: (own ?? mode) & modeMax });
    else if (!optional) throw new Error(`${missing}: ${key}`);
  }
  return files;
}

function downwardFiles(items: readonly DownwardAPIVolumeFile[], mode: number, context: FileContext): Files {
  const files: Files = new Map();
  for (const { path = '', fieldRef, resourceFieldRef, mode: own } of items) {
    const text = fieldRef
      ? podField(context, fieldRef)
      : containerResource(resourceFieldRef ?? {}, context.pod, context.node);
    files.set(path, { data: Buffer.from(text, 'utf8'), mode: (own ?? mode) & modeMax });
  }
  return files;
}

async function tokenFile(
  source: NonNullable<VolumeProjection['serviceAccountToken']>,
  mode: number,
  { pod, tokens }: FileContext,
): Promise<Files> {
  const data = Buffer.from(await tokens.token(source), 'utf8');
  const uid = mayGiveAway ? commonUser(pod) : undefined;
  const isPrivate = mayGiveAway && (uid !== undefined || pod.spec?.securityContext?.fsGroup !== undefined);
  // As in Kubernetes: if all containers run as one user, the token is readable by that user alone;
  // AtomicFolder adds the group.
  return new Map([[source.path ?? '', { data, mode: isPrivate ? 0o600 : mode & modeMax, uid }]]);
}

/** Only root may change the owner of a file. */
export const mayGiveAway = process.getuid?.() === 0;

/** The user that all containers of the pod run as; undefined when they differ. */
function commonUser({ spec }: Pod): number | undefined {
  const containers = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  const users = new Set(
    containers.map(({ securityContext }) => securityContext?.runAsUser ?? spec?.securityContext?.runAsUser),
  );
  return users.size === 1 ? [...users][0] : undefined;
}
