/** Authorization of a cluster, put together: what users may do, and the default policy. */
import type {
  AuthorizationMode,
  AuthorizationOptions,
} from '../../access/authorization/authorization-options.ts';
import { ensureDefaultPolicy } from '../../access/authorization/bootstrap.ts';
import { makeAuthorizer } from '../../access/authorization/make-authorizer.ts';
import type { Authorizer } from '../../api/kind/access.ts';
import type { Registry } from '../../registry/registry.ts';
import type { HealthCheck } from '../../server/observe/health.ts';
import { Startup } from '../shared/health-checks.ts';
import { StartError } from '../shared/start-error.ts';

export interface OpenAuthorization {
  readonly authorizer: Authorizer;
  /** Those of now: a configuration file may change. */
  readonly modes: readonly AuthorizationMode[];
  readonly checks: readonly HealthCheck[];
  close(): void;
}

/** Lets the registry know what users may do, and plants the default policy when RBAC needs it. */
export async function openAuthorization(
  registry: Registry,
  options: AuthorizationOptions,
  log?: (message: string) => void,
): Promise<OpenAuthorization> {
  const authorization = await asStartError(() => makeAuthorizer(options, registry, log));
  const { authorizer, guard } = authorization;
  registry.authorizer = authorizer;
  registry.admission = registry.admission.guardedBy(guard);
  const checks: HealthCheck[] = [];
  if (authorization.modes.includes('RBAC')) {
    const planted = new Startup();
    const planting = ensureDefaultPolicy(registry);
    planted.follow(planting);
    await planting;
    checks.push({
      name: 'poststarthook/rbac/bootstrap-roles',
      readyOnly: true,
      failure: () => planted.failure,
    });
  }
  return {
    authorizer,
    get modes() {
      return authorization.modes;
    },
    checks,
    close: () => authorization.close(),
  };
}

/** What is wrong with an option is told in a sentence. */
async function asStartError<T>(make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    throw new StartError((error as Error).message, { cause: error });
  }
}
