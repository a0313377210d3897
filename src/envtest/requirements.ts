/** kube-apiserver's requirements on combinations of flags, in its order and words. */
import { runtimeConfigProblem } from '../api/kinds/runtime-config.ts';
import { admissionPlugins } from './admission-plugins.ts';
import { apiServerFlags } from './apiserver-flags.ts';
import { gateProblems } from './feature-gates.ts';
import { type FlagValues, lastOf, listOf, truthOf } from './flag.ts';
import { settingProblems } from './flag-settings.ts';
import { runtimeConfigOf } from './runtime-config-flag.ts';

/**
 * Why a server with these flags does not start; empty: it does.
 * @param isOfOtherMinor whether it is a minor of Kubernetes other than the newest
 */
export function problemsOf(values: FlagValues, isOfOtherMinor = false): string[] {
  const problems: string[] = [];
  const has = (name: string): boolean => Boolean(lastOf(values, name));
  if (listOf(values, 'etcd-servers').length === 0) problems.push('--etcd-servers must be specified');
  const backend = lastOf(values, 'storage-backend');
  if (backend && backend !== 'etcd3')
    problems.push(
      "--storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'",
    );
  const port = Number(lastOf(values, 'secure-port') ?? 6443);
  if (port < 1 || port > 65535)
    problems.push(
      `--secure-port ${port} must be between 1 and 65535, inclusive. It cannot be turned off with 0`,
    );
  if (!has('service-account-issuer')) problems.push('service-account-issuer is a required flag');
  if (!has('service-account-key-file') && !has('service-account-signing-endpoint'))
    problems.push('either `--service-account-key-file` or `--service-account-signing-endpoint` must be set');
  problems.push(...signingProblems(has('service-account-signing-key-file'), has('service-account-issuer')));
  problems.push(...rangeProblems(lastOf(values, 'service-cluster-ip-range')));
  // Gates of another minor are checked by the cluster, which has its table.
  if (!isOfOtherMinor) problems.push(...gateProblems(values));
  if (
    has('admission-control') &&
    (values.has('enable-admission-plugins') || values.has('disable-admission-plugins'))
  )
    problems.push(
      'admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive',
    );
  if (has('tls-cert-file') && !has('tls-private-key-file')) problems.push('missing filename for serving key');
  if (!has('tls-cert-file') && has('tls-private-key-file'))
    problems.push('missing filename for serving cert');
  problems.push(...runtimeProblems(values));
  problems.push(...auditProblems(values));
  problems.push(...nameProblems(values));
  problems.push(...settingProblems(values));
  for (const { name, use } of apiServerFlags)
    if (use === 'refuse' && has(name)) problems.push(`--${name} is not supported here`);
  return problems;
}

function signingProblems(key: boolean, issuer: boolean): string[] {
  if (key && issuer) return [];
  if (!key && !issuer)
    return ['--service-account-signing-key-file and --service-account-issuer are required flags'];
  return [
    '--service-account-signing-key-file, --service-account-issuer, and --api-audiences should be specified together',
  ];
}

function rangeProblems(ranges: string | undefined): string[] {
  if (!ranges) return [];
  const list = ranges.split(',');
  const problems = list.flatMap((range, i) =>
    /^[0-9a-fA-F.:]+\/\d{1,3}$/.test(range) ? [] : [`service-cluster-ip-range[${i}] is not a valid cidr`],
  );
  if (list.length > 2) problems.push('--service-cluster-ip-range must not contain more than two entries');
  const families = new Set(list.map((range) => range.includes(':')));
  if (list.length === 2 && families.size < 2)
    problems.push(
      '--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family',
    );
  return problems;
}

function runtimeProblems(values: FlagValues): string[] {
  const odd = listOf(values, 'runtime-config').flatMap((pair) => {
    const [name = '', value = ''] = pair.split('=');
    return value === '' || truthOf(value) !== undefined
      ? []
      : [
          `invalid value of ${name}: ${value}, err: strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`,
        ];
  });
  const problem = runtimeConfigProblem(runtimeConfigOf(values));
  return problem === undefined ? odd : [...odd, problem];
}

function auditProblems(values: FlagValues): string[] {
  const modes = ['batch', 'blocking', 'blocking-strict'];
  const unfit = (name: string, allowed: readonly string[]): boolean =>
    !allowed.includes(lastOf(values, name) || allowed[0]!);
  const problems: string[] = [];
  for (const backend of ['log', 'webhook']) {
    if (unfit(`audit-${backend}-mode`, modes))
      problems.push(
        `invalid audit ${backend} mode ${lastOf(values, `audit-${backend}-mode`)}, allowed modes are ${JSON.stringify(modes.join(','))}`,
      );
    if (unfit(`audit-${backend}-version`, ['audit.k8s.io/v1']))
      problems.push(`invalid group version, allowed versions are ${JSON.stringify(['audit.k8s.io/v1'])}`);
  }
  if (unfit('audit-log-format', ['json', 'legacy']))
    problems.push(
      `invalid audit log format ${lastOf(values, 'audit-log-format')}, allowed formats are ${JSON.stringify('legacy,json')}`,
    );
  return problems;
}

const authorizationModes = new Set(['AlwaysAllow', 'AlwaysDeny', 'ABAC', 'Webhook', 'RBAC', 'Node']);

/** Names of authorization modes and admission plugins that kube-apiserver does not know. */
function nameProblems(values: FlagValues): string[] {
  const modes = listOf(values, 'authorization-mode').filter((mode) => !authorizationModes.has(mode));
  const plugins = ['enable-admission-plugins', 'disable-admission-plugins', 'admission-control'].flatMap(
    (flag) =>
      listOf(values, flag)
        .filter((name) => !admissionPlugins.has(name))
        .map((name) => `${flag} plugin ${JSON.stringify(name)} is unknown`),
  );
  const format = lastOf(values, 'logging-format') || 'text';
  return [
    ...modes.map((mode) => `authorization-mode ${JSON.stringify(mode)} is not a valid mode`),
    ...plugins,
    ...(format === 'text' || format === 'json'
      ? []
      : [`format: Invalid value: ${JSON.stringify(format)}: Unsupported log format`]),
  ];
}
