/** Options of authorization: what users of the secure door may do. Files are named as kube-apiserver's flags name them. */

/** How it is decided what a user may do. */
export const authorizationModes = ['Node', 'RBAC', 'ABAC', 'Webhook', 'AlwaysAllow', 'AlwaysDeny'] as const;

export type AuthorizationMode = (typeof authorizationModes)[number];

export interface AuthorizationOptions {
  /** In the order in which they are asked. Default `Node`, `RBAC`. */
  readonly authorizationModes?: readonly AuthorizationMode[];
  /** File of kind AuthorizationConfiguration, instead of the modes. Read again when it changes. */
  readonly authorizationConfigFile?: string;
  /** File with one ABAC policy per line, for the mode `ABAC`. */
  readonly authorizationPolicyFile?: string;
  /** The service that is asked in the mode `Webhook`. */
  readonly authorizationWebhook?: AuthorizationWebhookOptions;
}

export interface AuthorizationWebhookOptions {
  /** Kubeconfig file that names the service. */
  readonly configFile: string;
  /** Version of the SubjectAccessReviews that are sent. Default `v1beta1`. */
  readonly version?: 'v1' | 'v1beta1';
  /** How long answers that allow are remembered. Default 5 minutes. */
  readonly cacheAuthorizedMs?: number;
  /** How long other answers are remembered. Default 30 seconds. */
  readonly cacheUnauthorizedMs?: number;
}
