/** Translates kube-apiserver's flags to those of `wherry serve`, most of which have the same names. */
import { parseDurationMs } from '../api/values/duration.ts';
import { flagsOf, type Value } from '../cluster/options/option.ts';
import { startOptions } from '../cluster/options/start-options.ts';
import { admissionPlugins } from './admission-plugins.ts';
import { isGateClosed } from './feature-gates.ts';
import { type FlagValues, lastOf, listOf } from './flag.ts';

/** Flags with the same meaning here, as their declarations say. */
const passedOn = flagsOf(startOptions).filter(({ isPassedOn }) => isPassedOn);

export interface Place {
  readonly dataDir: string;
  readonly requestBytesMax: number;
  /** The serving certificate and its key. */
  readonly certFile: string;
  readonly keyFile: string;
  /** Default body limit of the server. */
  readonly bodyBytesMax: number;
}

/** The flags of `wherry serve`. */
export function serveLine(values: FlagValues, place: Place): string[] {
  const args = ['--port=off', '--like=kubernetes', `--data-dir=${place.dataDir}`];
  const pass = (name: string, value: string): void => void args.push(`--${name}=${value}`);
  pass('secure-host', lastOf(values, 'bind-address') ?? '0.0.0.0');
  if (!values.has('secure-port')) pass('secure-port', '6443');
  pass('tls-cert-file', place.certFile);
  pass('tls-private-key-file', place.keyFile);
  for (const { flag, value } of passedOn)
    for (const text of textsOf(values, flag, value.form)) pass(flag, text);
  // The deprecated list of all plugins that run.
  const plugins = listOf(values, 'admission-control');
  if (plugins.length) pass('enable-admission-plugins', plugins.join(','));
  const disabled = new Set(listOf(values, 'disable-admission-plugins'));
  if (isGateClosed(values, 'MutatingAdmissionPolicy')) disabled.add('MutatingAdmissionPolicy');
  if (plugins.length) for (const name of admissionPlugins) if (!plugins.includes(name)) disabled.add(name);
  if (disabled.size) pass('disable-admission-plugins', [...disabled].join(','));
  // As in kube-apiserver, without an authorization mode everything is allowed, and anonymous requests are refused.
  if (!listOf(values, 'authorization-mode').length && !lastOf(values, 'authorization-config')) {
    pass('authorization-mode', 'AlwaysAllow');
    if (!values.has('anonymous-auth')) pass('anonymous-auth', 'false');
  }
  pass('service-cluster-ip-range', lastOf(values, 'service-cluster-ip-range') || '10.0.0.0/24');
  const longest = lastOf(values, 'service-account-max-token-expiration');
  if (longest && longest !== '0s' && longest !== '0') pass('service-account-max-token-expiration', longest);
  const timeout = lastOf(values, 'request-timeout');
  if (timeout && timeout !== '0' && timeout !== '0s') pass('request-timeout', timeout);
  if (values.has('disable-http2-serving') && lastOf(values, 'disable-http2-serving') !== 'false')
    args.push('--disable-http2-serving');
  audit(values, pass);
  if (place.requestBytesMax > place.bodyBytesMax) pass('max-body-bytes', `${place.requestBytesMax}`);
  return args;
}

/** The texts of a flag to pass on: its list, each of its values, or the last one. Empty ones stand for the default. */
function textsOf(values: FlagValues, flag: string, form: Value<unknown>['form']): readonly string[] {
  if (form === 'list') return [listOf(values, flag).join(',')].filter(Boolean);
  const given = values.get(flag) ?? [];
  return (form === 'repeated' ? given : given.slice(-1)).filter(Boolean);
}

/** Flags of the audit log that `wherry serve` has under the same names, by destination. */
const auditLog: readonly string[] = ['audit-log-format', 'audit-log-mode', 'audit-log-maxage'];
const auditWebhook: readonly string[] = [
  'audit-webhook-config-file',
  'audit-webhook-mode',
  'audit-webhook-batch-max-size',
  'audit-webhook-batch-buffer-size',
];
const auditWebhookTimes: readonly string[] = [
  'audit-webhook-batch-max-wait',
  'audit-webhook-initial-backoff',
];

function audit(values: FlagValues, pass: (name: string, value: string) => void): void {
  const given = (name: string): string => lastOf(values, name) ?? '';
  const passAll = (names: readonly string[]): void => {
    for (const name of names) if (given(name)) pass(name, given(name));
  };
  const file = given('audit-log-path');
  if (file) {
    pass('audit-log', file);
    passAll(auditLog);
    if (!given('audit-log-mode')) pass('audit-log-mode', 'blocking');
    for (const name of ['audit-log-maxsize', 'audit-log-maxbackup']) if (given(name) !== '0') passAll([name]);
  }
  if (given('audit-webhook-config-file')) {
    passAll(auditWebhook);
    for (const name of auditWebhookTimes)
      if (given(name)) pass(name, `${Math.round(parseDurationMs(given(name))!)}ms`);
  }
  // Without a destination for events, a policy has no effect.
  if (file || given('audit-webhook-config-file')) passAll(['audit-policy-file']);
}
