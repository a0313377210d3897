/** Authorization of a cluster, put together: what users may do, which admission plugins run, and the default policy. */
import type { AuthorizationOptions } from '../access/authorization/authorizationoptions.ts';
import { ensureDefaultPolicy } from '../access/authorization/bootstrap.ts';
import { makeAuthorizer } from '../access/authorization/makeauthorizer.ts';
import type { Authorizer } from '../api/access.ts';
import { type AdmissionOptions, admissionChain } from '../registry/admission/plugins.ts';
import type { Registry } from '../registry/registry.ts';
import type { HealthCheck } from '../server/observe/health.ts';
import { Startup } from './healthchecks.ts';
import { StartError } from './starterror.ts';

export interface OpenAuthorization {
  readonly authorizer: Authorizer;
  readonly checks: readonly HealthCheck[];
  close(): void;
}

/** Lets the registry know what users may do, and plants the default policy when RBAC needs it. */
export async function openAuthorization(
  registry: Registry,
  options: AuthorizationOptions,
  admission: AdmissionOptions | undefined,
): Promise<OpenAuthorization> {
  const { authorizer, guard, modes, close } = await asStartError(() => makeAuthorizer(options, registry));
  registry.authorizer = authorizer;
  registry.admission = await asStartError(() => admissionChain(admission, [guard]));
  if (!modes.includes('RBAC')) return { authorizer, checks: [], close };
  const planted = new Startup();
  const planting = ensureDefaultPolicy(registry);
  planted.follow(planting);
  await planting;
  const check: HealthCheck = {
    name: 'poststarthook/rbac/bootstrap-roles',
    readyOnly: true,
    failure: () => planted.failure,
  };
  return { authorizer, checks: [check], close };
}

/** What is wrong with an option is told in a sentence. */
export async function asStartError<T>(make: () => T | Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    throw new StartError((error as Error).message, { cause: error });
  }
}
