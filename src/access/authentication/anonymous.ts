/** Anonymous access: requests without any credential. */
import type { User } from '../../api/values/user.ts';
import type { Authenticator, Credentials } from './authenticator.ts';

const anonymous: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

export interface AnonymousAccess {
  readonly enabled: boolean;
  /** The only paths that are allowed, compared exactly; undefined: all. */
  readonly paths?: ReadonlySet<string>;
}

export class Anonymous implements Authenticator {
  /** @param access called for every request, because a configuration file may change it */
  constructor(private readonly access: () => AnonymousAccess) {}

  authenticate({ path }: Credentials): User | undefined {
    const { enabled, paths } = this.access();
    return enabled && (paths === undefined || paths.has(path)) ? anonymous : undefined;
  }
}
