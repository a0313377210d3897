/** Authorization of a cluster, put together: what users may do, and the default policy. */
import type {
  AuthorizationMode,
  AuthorizationOptions,
} from '../access/authorization/authorizationoptions.ts';
import { ensureDefaultPolicy } from '../access/authorization/bootstrap.ts';
import { makeAuthorizer } from '../access/authorization/makeauthorizer.ts';
import type { Authorizer } from '../api/access.ts';
import type { Registry } from '../registry/registry.ts';
import type { HealthCheck } from '../server/observe/health.ts';
import { Startup } from './healthchecks.ts';
import { StartError } from './starterror.ts';

export interface OpenAuthorization {
  readonly authorizer: Authorizer;
  readonly modes: readonly AuthorizationMode[];
  readonly checks: readonly HealthCheck[];
  close(): void;
}

/** Lets the registry know what users may do, and plants the default policy when RBAC needs it. */
export async function openAuthorization(
  registry: Registry,
  options: AuthorizationOptions,
): Promise<OpenAuthorization> {
  const { authorizer, guard, modes, close } = await asStartError(() => makeAuthorizer(options, registry));
  registry.authorizer = authorizer;
  registry.admission = registry.admission.guardedBy(guard);
  const checks: HealthCheck[] = [];
  if (modes.includes('RBAC')) {
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
  return { authorizer, modes, checks, close };
}

/** What is wrong with an option is told in a sentence. */
async function asStartError<T>(make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    throw new StartError((error as Error).message, { cause: error });
  }
}
