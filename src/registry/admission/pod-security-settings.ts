/** Settings of pod security: the policy of namespaces without labels, and what is exempt from it. */

import {
  isLevel,
  isVersion,
  levelExpectation,
  type Mode,
  modes,
  type Policy,
  type PolicyLevel,
  privilegedPolicy,
  versionExpectation,
} from '../../api/rules/pod-security/policy.ts';
import { type ConfigurationValue, configurationFields } from '../../api/text/configuration.ts';

export interface PodSecuritySettings {
  readonly defaults: Policy;
  readonly exemptUsers: ReadonlySet<string>;
  readonly exemptNamespaces: ReadonlySet<string>;
  readonly exemptRuntimeClasses: ReadonlySet<string>;
}

const none: ReadonlySet<string> = new Set();

export const openPodSecurity: PodSecuritySettings = {
  defaults: privilegedPolicy,
  exemptUsers: none,
  exemptNamespaces: none,
  exemptRuntimeClasses: none,
};

const group = 'pod-security.admission.config.k8s.io';
const versions = [`${group}/v1`, `${group}/v1beta1`, `${group}/v1alpha1`];

/** Parses a PodSecurityConfiguration. Throws an error with a sentence about what is wrong with it. */
export function readPodSecuritySettings(document: ConfigurationValue): PodSecuritySettings {
  const { defaults, exemptions } = configurationFields(
    document,
    'PodSecurityConfiguration',
    versions,
    'defaults',
    'exemptions',
  );
  const set = defaults.fields('enforce', 'enforce-version', 'audit', 'audit-version', 'warn', 'warn-version');
  const read = (mode: Mode): PolicyLevel => ({
    level: checked(set[mode], 'privileged', isLevel, levelExpectation) as PolicyLevel['level'],
    version: checked(set[`${mode}-version`], 'latest', isVersion, versionExpectation),
  });
  const exempt = exemptions.fields('usernames', 'namespaces', 'runtimeClasses');
  return {
    defaults: Object.fromEntries(modes.map((mode) => [mode, read(mode)])) as unknown as Policy,
    exemptUsers: new Set(exempt.usernames.texts()),
    exemptNamespaces: new Set(exempt.namespaces.texts()),
    exemptRuntimeClasses: new Set(exempt.runtimeClasses.texts()),
  };
}

function checked(
  value: ConfigurationValue,
  otherwise: string,
  isGood: (text: string) => boolean,
  expectation: string,
): string {
  const text = value.isSet ? value.text() : otherwise;
  if (!isGood(text)) throw new Error(`${value.path} ${expectation}, not ${JSON.stringify(text)}`);
  return text;
}
