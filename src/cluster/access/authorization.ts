/** Authorization of a cluster, put together: what users may do, and the default policy. */
import type { AuthorizationOptions } from '../../access/authorization/authorization-options.ts';
import { ensureDefaultPolicy } from '../../access/authorization/bootstrap.ts';
import { type Authorization, makeAuthorizer } from '../../access/authorization/make-authorizer.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Writing } from '../../registry/writing.ts';
import type { HealthCheck } from '../../server/observe/health.ts';
import { Startup } from '../shared/health-checks.ts';
import { StartError } from '../shared/start-error.ts';

/** Throws a `StartError` when options or files cannot be used. It looks at objects when it is asked, and not before. */
export const openAuthorization = (
  facts: Pick<Registry, 'view' | 'sources'>,
  options: AuthorizationOptions,
  log?: (message: string) => void,
): Promise<Authorization> => asStartError(() => makeAuthorizer(options, facts, log));

/** Plants the default policy when RBAC needs it, and answers with what says whether that was done. */
export async function plantPolicy(
  writing: Writing,
  { modes }: Authorization,
): Promise<readonly HealthCheck[]> {
  if (!modes.includes('RBAC')) return [];
  const planted = new Startup();
  const planting = ensureDefaultPolicy(writing);
  planted.follow(planting);
  await planting;
  return [{ name: 'poststarthook/rbac/bootstrap-roles', readyOnly: true, failure: () => planted.failure }];
}

/** Turns an error about an option into a StartError with the same sentence. */
async function asStartError<T>(make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    throw new StartError((error as Error).message, { cause: error });
  }
}
