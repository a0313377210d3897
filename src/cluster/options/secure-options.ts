/** Options of the secure door, each group declared where it is read. */
import type { AuthenticationOptions } from '../../access/authentication/authentication-options.ts';
import type { AuthorizationOptions } from '../../access/authorization/authorization-options.ts';
import type { ListenOptions } from './listen-options.ts';

export interface SecureOptions extends ListenOptions, AuthenticationOptions, AuthorizationOptions {}
