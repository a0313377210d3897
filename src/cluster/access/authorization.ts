/** Builds the authorization of a cluster. */
import type { AuthorizationOptions } from '../../access/authorization/authorization-options.ts';
import { type Authorization, makeAuthorizer } from '../../access/authorization/make-authorizer.ts';
import type { Registry } from '../../registry/registry.ts';
import { StartError } from '../shared/start-error.ts';

/** Throws a `StartError` when options or files cannot be used. Objects are read only when a decision is made. */
export const openAuthorization = (
  facts: Pick<Registry, 'view' | 'sources'>,
  options: AuthorizationOptions,
  log?: (message: string) => void,
): Promise<Authorization> => asStartError(() => makeAuthorizer(options, facts, log));

/** Turns an error about an option into a StartError with the same sentence. */
async function asStartError<T>(make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    throw new StartError((error as Error).message, { cause: error });
  }
}
