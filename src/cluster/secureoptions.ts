/** Options of the secure door, each group declared where it is read. */
import type { AuthenticationOptions } from '../access/authentication/authenticationoptions.ts';
import type { AuthorizationOptions } from '../access/authorization/authorizationoptions.ts';
import type { ListenOptions } from './listenoptions.ts';

export interface SecureOptions extends ListenOptions, AuthenticationOptions, AuthorizationOptions {}
