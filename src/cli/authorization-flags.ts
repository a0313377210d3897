/** The options that say what users of the secure door may do. They have kube-apiserver's names. */
import {
  type AdmissionOptions,
  type AuthorizationMode,
  type AuthorizationOptions,
  type AuthorizationWebhookOptions,
  authorizationModes,
} from '../cluster/index.ts';
import {
  list,
  listOf,
  type Refuse,
  text,
  timeOf,
  type ValuesOf,
  versionOf,
  withDoor,
} from './flag-values.ts';

/** For `parseArgs`. */
export const authorizationArgs = {
  'authorization-mode': list,
  'authorization-config': text,
  'authorization-policy-file': text,
  'authorization-webhook-config-file': text,
  'authorization-webhook-version': text,
  'authorization-webhook-cache-authorized-ttl': text,
  'authorization-webhook-cache-unauthorized-ttl': text,
} as const;

export const admissionArgs = {
  'enable-admission-plugins': list,
  'disable-admission-plugins': list,
} as const;

export const authorizationHelp = `  --authorization-mode LIST
                        what decides, in this order: ${authorizationModes.join(', ')}
                        (default Node,RBAC)
  --authorization-config FILE
                        the same as an AuthorizationConfiguration
  --authorization-policy-file FILE
                        policies for the mode ABAC, one JSON object per line
  --authorization-webhook-config-file FILE
                        kubeconfig of the service that is asked in the mode Webhook
  --authorization-webhook-version VERSION
                        of the SubjectAccessReview that is sent: v1 or v1beta1 (default v1beta1)
  --authorization-webhook-cache-authorized-ttl TIME
                        how long answers that allow are remembered (default 5m)
  --authorization-webhook-cache-unauthorized-ttl TIME
                        how long other answers are remembered (default 30s)
`;

export const admissionHelp = `  --enable-admission-plugins LIST
                        admission plugins that run beside those that do by default
  --disable-admission-plugins LIST
                        admission plugins that do not run
`;

type Values = ValuesOf<typeof authorizationArgs & typeof admissionArgs>;

/** Adds what users may do to the options of the door; refuses that for a door that is closed. */
export const readAuthorization = <Secure extends object>(
  values: Values,
  secure: Secure | false,
  refuse: Refuse,
): (Secure & AuthorizationOptions) | false =>
  withDoor(secure, authorizationArgs, values, () => authorizationOptions(values, refuse), refuse);

export function readAdmission(values: Values): AdmissionOptions | undefined {
  const [enabled, disabled] = [
    listOf(values['enable-admission-plugins']),
    listOf(values['disable-admission-plugins']),
  ];
  return enabled || disabled ? { enabled, disabled } : undefined;
}

function authorizationOptions(values: Values, refuse: Refuse): AuthorizationOptions {
  const modes = listOf(values['authorization-mode']);
  const unknown = modes?.find((mode) => !(authorizationModes as readonly string[]).includes(mode));
  if (unknown !== undefined)
    refuse(
      `--authorization-mode must name some of ${authorizationModes.join(', ')}, not ${JSON.stringify(unknown)}`,
    );
  if (modes && values['authorization-config'] !== undefined)
    refuse('--authorization-config and --authorization-mode exclude each other');
  return {
    authorizationModes: modes as readonly AuthorizationMode[] | undefined,
    authorizationConfigFile: values['authorization-config'],
    authorizationPolicyFile: values['authorization-policy-file'],
    authorizationWebhook: webhookOptions(values, refuse),
  };
}

function webhookOptions(values: Values, refuse: Refuse): AuthorizationWebhookOptions | undefined {
  const { 'authorization-webhook-config-file': configFile } = values;
  if (configFile === undefined) {
    const idle = Object.keys(authorizationArgs).find(
      (name) => name.startsWith('authorization-webhook-') && values[name as keyof Values] !== undefined,
    );
    return idle === undefined ? undefined : refuse(`--${idle} needs --authorization-webhook-config-file`);
  }
  return {
    configFile,
    version: versionOf(values, 'authorization-webhook-version', refuse),
    cacheAuthorizedMs: timeOf(values, 'authorization-webhook-cache-authorized-ttl', refuse),
    cacheUnauthorizedMs: timeOf(values, 'authorization-webhook-cache-unauthorized-ttl', refuse),
  };
}
