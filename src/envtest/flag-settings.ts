/** Flags of kube-apiserver that become settings of the API server: their values, and what is wrong with them. */
import { parseDurationMs } from '../api/values/duration.ts';
import type { CertificateFiles, ServerSettings } from '../cluster/options/server-settings.ts';
import { kubernetesVersion } from './apiserver-help.ts';
import { emulatedVersion, emulationProblems } from './emulated-version.ts';
import { isGateClosed } from './feature-gates.ts';
import { type FlagValues, isTrue, lastOf, listOf } from './flag.ts';

const portMax = 65_535;
/** The path of the keys of service account tokens. */
const keysPath = '/openid/v1/jwks';
const reconcilers: readonly string[] = ['lease', 'master-count', 'none'];

const numberOf = (values: FlagValues, name: string): number | undefined =>
  lastOf(values, name) ? Number(lastOf(values, name)) : undefined;

const msOf = (values: FlagValues, name: string): number | undefined =>
  lastOf(values, name) ? parseDurationMs(lastOf(values, name)!) : undefined;

export function serverSettingsOf(values: FlagValues): ServerSettings {
  const given = lastOf(values, 'version');
  return defined({
    corsAllowedOrigins: listOf(values, 'cors-allowed-origins'),
    strictTransportSecurity: listOf(values, 'strict-transport-security-directives'),
    goawayChance: numberOf(values, 'goaway-chance'),
    compressesAnswers: isGateClosed(values, 'APIResponseCompression') ? false : undefined,
    watchLists: isGateClosed(values, 'WatchList') ? false : undefined,
    gitVersion: given?.startsWith('v') ? given : kubernetesVersion,
    emulatedVersion: emulatedVersion(values),
    watchSecondsMin: numberOf(values, 'min-request-timeout') || undefined,
    notReadyTolerationSeconds: numberOf(values, 'default-not-ready-toleration-seconds'),
    unreachableTolerationSeconds: numberOf(values, 'default-unreachable-toleration-seconds'),
    kubernetesNodePort: numberOf(values, 'kubernetes-service-node-port') || undefined,
    kubernetesEndpoints: lastOf(values, 'endpoint-reconciler-type') !== 'none',
    shutdownDelayMs: msOf(values, 'shutdown-delay-duration') || undefined,
    proxyClient: filesOf(values, 'proxy-client-cert-file', 'proxy-client-key-file'),
    kubelet: defined({
      caFile: lastOf(values, 'kubelet-certificate-authority') || undefined,
      client: filesOf(values, 'kubelet-client-certificate', 'kubelet-client-key'),
      addressTypes: orNone(listOf(values, 'kubelet-preferred-address-types')),
      timeoutMs: msOf(values, 'kubelet-timeout') || undefined,
    }),
  });
}

/** Settings of service accounts that do not follow from flags of the same names. */
export const accountSettingsOf = (values: FlagValues) =>
  defined({
    jwksUri: lastOf(values, 'service-account-jwks-uri') || externalKeys(values),
    lookup: isTrue(values, 'service-account-lookup', true),
  });

/** The URL of the keys under the server's external name. */
function externalKeys(values: FlagValues): string | undefined {
  const host = lastOf(values, 'external-hostname');
  if (!host) return undefined;
  const hasPort = /[^:]:\d+$|\]:\d+$/.test(host);
  return `https://${host}${hasPort ? '' : `:${lastOf(values, 'secure-port') ?? 6443}`}${keysPath}`;
}

/** Why a server does not start with these flags, in kube-apiserver's words. */
export function settingProblems(values: FlagValues): string[] {
  const problems: string[] = [];
  for (const name of ['min-request-timeout', 'kubelet-timeout', 'shutdown-delay-duration'])
    if (lastOf(values, name)?.startsWith('-')) problems.push(`--${name} can not be negative value`);
  const port = numberOf(values, 'kubernetes-service-node-port') ?? 0;
  if (port < 0 || port > portMax)
    problems.push(
      `--kubernetes-service-node-port ${port} must be between 0 and 65535, inclusive. If 0, the Kubernetes master service will be of type ClusterIP`,
    );
  const reconciler = lastOf(values, 'endpoint-reconciler-type') || 'lease';
  if (!reconcilers.includes(reconciler)) problems.push(`unknown endpoint reconciler type: ${reconciler}`);
  const keys = lastOf(values, 'service-account-jwks-uri');
  if (keys && !/^https:\/\/[^/]+/.test(keys))
    problems.push(`service-account-jwks-uri requires https scheme, parsed as: ${keys}`);
  problems.push(...emulationProblems(values));
  for (const [cert, key] of pairs)
    if (Boolean(lastOf(values, cert)) !== Boolean(lastOf(values, key)))
      problems.push(`--${cert} and --${key} must be specified together`);
  return problems;
}

const pairs = [
  ['proxy-client-cert-file', 'proxy-client-key-file'],
  ['kubelet-client-certificate', 'kubelet-client-key'],
] as const;

/** Why `--version=vX.Y.Z` is invalid; undefined when it is valid. It may add to the version, but not change it. */
export function versionProblem(asked: string): string | undefined {
  if (!/^v\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$/.test(asked))
    return `could not parse ${JSON.stringify(asked)} as version`;
  return asked.split(/[-+]/)[0] === kubernetesVersion
    ? undefined
    : `version ${JSON.stringify(asked)} must match major/minor/patch of default version ${JSON.stringify(kubernetesVersion)}`;
}

function filesOf(values: FlagValues, cert: string, key: string): CertificateFiles | undefined {
  const [certFile, keyFile] = [lastOf(values, cert), lastOf(values, key)];
  return certFile && keyFile ? { certFile, keyFile } : undefined;
}

const orNone = (list: string[]): string[] | undefined => (list.length ? list : undefined);

/** Without undefined values. */
const defined = <T extends object>(object: T): { [name in keyof T]: Exclude<T[name], undefined> } =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never;
