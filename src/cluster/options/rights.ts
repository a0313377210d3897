/** What users of the secure door may do, and what admission does with their requests. */
import {
  type AuthorizationMode,
  type AuthorizationOptions,
  type AuthorizationWebhookOptions,
  authorizationModes,
} from '../../access/authorization/authorization-options.ts';
import type { AdmissionOptions } from '../../registry/admission/plugins.ts';
import { type Given, group, type Option, optionFor } from './option.ts';
import { file, items, list, reviewVersion, text, time, truth } from './values.ts';

const option = optionFor('up', 'serve');

const isMode = (mode: string): mode is AuthorizationMode =>
  (authorizationModes as readonly string[]).includes(mode);

export const authorizationOptions: {
  readonly [name in keyof AuthorizationOptions]-?: Option<Required<AuthorizationOptions>[name]>;
} = {
  authorizationModes: option({
    flag: 'authorization-mode',
    value: {
      shown: 'LIST',
      form: 'list',
      completes: authorizationModes,
      read: (given, flag, refuse) =>
        given
          .flatMap(items)
          .map((mode) =>
            isMode(mode)
              ? mode
              : refuse(
                  `${flag} must name some of ${authorizationModes.join(', ')}, not ${JSON.stringify(mode)}`,
                ),
          ),
    },
    text: `what decides, in this order: ${authorizationModes.join(', ')}\n`,
    default: 'Node,RBAC',
    isPassedOn: true,
  }),
  authorizationConfigFile: option({
    flag: 'authorization-config',
    value: text('FILE'),
    text: 'the same as an AuthorizationConfiguration',
    isPassedOn: true,
  }),
  authorizationPolicyFile: option({
    flag: 'authorization-policy-file',
    value: text('FILE'),
    text: 'policies for the mode ABAC, one JSON object per line',
    isPassedOn: true,
  }),
  authorizationWebhook: group<AuthorizationWebhookOptions>(
    {
      configFile: option({
        flag: 'authorization-webhook-config-file',
        value: text('FILE'),
        text: 'kubeconfig of the service that is asked in the mode Webhook',
        isPassedOn: true,
      }),
      version: option({
        flag: 'authorization-webhook-version',
        value: reviewVersion,
        text: 'of the SubjectAccessReview that is sent: v1 or v1beta1',
        default: 'v1beta1',
        isPassedOn: true,
      }),
      cacheAuthorizedMs: option({
        flag: 'authorization-webhook-cache-authorized-ttl',
        value: time,
        text: 'how long answers that allow are remembered',
        default: '5m',
        isPassedOn: true,
      }),
      cacheUnauthorizedMs: option({
        flag: 'authorization-webhook-cache-unauthorized-ttl',
        value: time,
        text: 'how long other answers are remembered',
        default: '30s',
        isPassedOn: true,
      }),
    },
    { isGiven: isWebhookGiven },
  ),
};

function isWebhookGiven({ flags, refuse }: Given): boolean {
  if (flags.includes('authorization-webhook-config-file')) return true;
  return flags.length > 0 && refuse(`--${flags[0]} needs --authorization-webhook-config-file`);
}

export const pluginOptions = {
  /** Which admission plugins run, by Kubernetes' names. Default: all that there are. */
  admission: group<AdmissionOptions>({
    enabled: option({
      flag: 'enable-admission-plugins',
      value: list,
      text: 'admission plugins that run beside those that do by default',
      isPassedOn: true,
    }),
    disabled: option({
      flag: 'disable-admission-plugins',
      value: list,
      text: 'admission plugins that do not run',
    }),
  }),
};

export const protectionOptions = {
  /** File with settings of admission plugins: an AdmissionConfiguration, as kube-apiserver reads it. */
  admissionConfigFile: option<string>({
    flag: 'admission-control-config-file',
    value: file,
    text: 'settings of admission plugins: exemptions and defaults of PodSecurity',
    isPassedOn: true,
  }),
  /** Whether containers may be privileged: with an agent of root, such a container keeps all of root's rights. Default false. */
  allowPrivileged: option<boolean>({
    flag: 'allow-privileged',
    value: truth,
    text: 'let containers have securityContext.privileged',
    default: 'false',
    isPassedOn: true,
  }),
  /** File that says which resources are encrypted in the store: an EncryptionConfiguration, as kube-apiserver reads it. */
  encryptionConfigFile: option<string>({
    flag: 'encryption-provider-config',
    value: file,
    text: 'which resources are encrypted in the store, and by which keys',
    isPassedOn: true,
  }),
};
