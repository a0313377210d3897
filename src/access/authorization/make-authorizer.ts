/** Builds authorization from options: the union of authorizers, and the checks of roles and bindings. */
import { type Authorizer, allowAll } from '../../api/kind/access.ts';
import type { Guard } from '../../registry/admission-chain.ts';
import type { Registry } from '../../registry/registry.ts';
import { readRemoteService } from '../shared/remote-configuration.ts';
import { readTextFile } from '../shared/text-file.ts';
import { AbacAuthorizer, readPolicies } from './abac.ts';
import { alwaysDeny } from './always-deny.ts';
import { type ConfiguredAuthorizer, readAuthorizationConfiguration } from './authorization-configuration.ts';
import {
  type AuthorizationMode,
  type AuthorizationOptions,
  authorizationModes,
} from './authorization-options.ts';
import { defaultRules } from './bootstrap-policy.ts';
import { ChosenAuthorizers } from './chosen-authorizers.ts';
import { Escalation } from './escalation.ts';
import { NodeAuthorizer } from './node-authorizer.ts';
import { NodeGraph } from './node-graph.ts';
import { RbacAuthorizer } from './rbac.ts';
import { RbacIndex } from './rbac-index.ts';
import { RuleSet } from './rule-set.ts';
import { WebhookAuthorizer } from './webhook.ts';

const defaultModes: readonly AuthorizationMode[] = ['Node', 'RBAC'];
const webhookTimeoutMs = 30_000;

export interface Authorization {
  readonly authorizer: Authorizer;
  /** Refuses roles and bindings that grant more than their writer has. */
  readonly guard: Guard;
  /** The modes, in the order in which they are tried. */
  readonly modes: readonly AuthorizationMode[];
  close(): void;
}

/** Rejects with a sentence about an invalid option or file. @param log called when a file changes */
export async function makeAuthorizer(
  options: AuthorizationOptions,
  { view, sources }: Pick<Registry, 'view' | 'sources'>,
  log: (message: string) => void = () => undefined,
): Promise<Authorization> {
  const { authorizationConfigFile: file, authorizationModes: modes, authorizationWebhook } = options;
  if (file !== undefined && (modes || authorizationWebhook))
    throw new Error(
      'the authorization configuration file excludes authorization modes and a webhook of their own',
    );
  const index = new RbacIndex(view);
  const rbac = new RbacAuthorizer(index);
  const chosen = new ChosenAuthorizers({
    AlwaysAllow: () => allowAll,
    AlwaysDeny: () => alwaysDeny,
    RBAC: () => rbac,
    Node: () => new NodeAuthorizer(new NodeGraph(view), () => RuleSet.of(defaultRules('system:node'))),
    ABAC: () => abac(options.authorizationPolicyFile),
    Webhook: async ({ webhook }) => {
      const { configFile, ...settings } = webhook!;
      const service = await readRemoteService(configFile, 'configuration of the authorization webhook');
      return new WebhookAuthorizer({ ...settings, service, nowMs: sources.nowMs });
    },
  });
  if (file === undefined) await chosen.use(fromModes(options));
  else await chosen.follow(file, (text) => fromFile(text, options), log);
  return {
    authorizer: chosen.authorizer,
    guard: new Escalation(index, rbac, chosen.authorizer).guard,
    get modes() {
      return chosen.modes;
    },
    close: () => chosen.close(),
  };
}

function fromModes(options: AuthorizationOptions): readonly ConfiguredAuthorizer[] {
  const wanted = options.authorizationModes ?? defaultModes;
  checkModes(wanted, options);
  return wanted.map((mode) => (mode === 'Webhook' ? webhookOf(options) : { mode }));
}

function fromFile(text: string, options: AuthorizationOptions): readonly ConfiguredAuthorizer[] {
  const chosen = readAuthorizationConfiguration(text);
  const modes = chosen.map(({ mode }) => mode);
  checkPolicyFile(modes, options);
  return chosen;
}

function checkModes(modes: readonly AuthorizationMode[], options: AuthorizationOptions): void {
  if (modes.length === 0) throw new Error('at least one authorization mode is needed');
  for (const [at, mode] of modes.entries()) {
    if (!authorizationModes.includes(mode))
      throw new Error(
        `there is no authorization mode ${JSON.stringify(mode)}; there are ${authorizationModes.join(', ')}`,
      );
    if (modes.indexOf(mode) !== at) throw new Error(`the authorization mode ${mode} is there twice`);
  }
  if (modes.includes('Webhook') !== (options.authorizationWebhook !== undefined))
    throw new Error('the authorization mode Webhook and its configuration file need each other');
  checkPolicyFile(modes, options);
}

function checkPolicyFile(
  modes: readonly AuthorizationMode[],
  { authorizationPolicyFile }: AuthorizationOptions,
): void {
  if (modes.includes('ABAC') !== (authorizationPolicyFile !== undefined))
    throw new Error('the authorization mode ABAC and its policy file need each other');
}

const webhookOf = ({ authorizationWebhook }: AuthorizationOptions): ConfiguredAuthorizer => ({
  mode: 'Webhook',
  webhook: {
    configFile: authorizationWebhook!.configFile,
    version: authorizationWebhook!.version ?? 'v1beta1',
    allowedMs: authorizationWebhook!.cacheAuthorizedMs ?? 5 * 60_000,
    refusedMs: authorizationWebhook!.cacheUnauthorizedMs ?? 30_000,
    timeoutMs: webhookTimeoutMs,
    onFailure: 'NoOpinion',
  },
});

async function abac(file: string | undefined): Promise<Authorizer> {
  return new AbacAuthorizer(readPolicies(await readTextFile(file!, 'authorization policy file'), file!));
}
