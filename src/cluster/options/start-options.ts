/** All options of `start()`: the topics together, in the order of the library's reference. */
import type { AuthenticationOptions } from '../../access/authentication/authentication-options.ts';
import type { AuthorizationOptions } from '../../access/authorization/authorization-options.ts';
import { auditOptions } from './audit.ts';
import { controllerOptions } from './controllers.ts';
import { listenOptions, localDoorOptions } from './doors.ts';
import { limitOptions } from './limits.ts';
import { manifestOptions } from './manifests.ts';
import { localOptions, type NodeOptions, nodeOptions } from './nodes.ts';
import { type Given, group, handedIn, type OptionsOf } from './option.ts';
import { extensionOptions, settingOptions, watcherOptions } from './program.ts';
import { authorizationOptions, pluginOptions, protectionOptions } from './rights.ts';
import { servingOptions } from './serving.ts';
import { folderOptions, storeOptions } from './store.ts';
import { accountOptions, issuerOptions, otherServerOptions, userOptions } from './users.ts';

export type ListenOptions = OptionsOf<typeof listenOptions>;

export interface SecureOptions extends ListenOptions, AuthenticationOptions, AuthorizationOptions {}

const secureDoorOptions = {
  /** Open a door over TLS beside the local one, for users who are known and may do what their roles allow. */
  secure: group<boolean | SecureOptions>(
    {
      ...listenOptions,
      ...userOptions,
      ...issuerOptions,
      ...otherServerOptions,
      ...accountOptions,
      ...authorizationOptions,
    },
    { isGiven: isDoorOpen, absent: false },
  ),
  /**
   * Make the default roles and bindings of Kubernetes also without the secure door, where nobody is checked by them.
   * They are there some milliseconds after the first answer. Default false; the command makes them always.
   */
  defaultRoles: handedIn<boolean>(),
};

function isDoorOpen({ flags, last, refuse }: Given): boolean {
  const given = (flag: string): boolean => flags.includes(flag);
  if (last('secure-port') === 'off') {
    const idle = flags.find((flag) => flag !== 'secure-port');
    return idle !== undefined && refuse(`--${idle} needs the secure door, which --secure-port off closes`);
  }
  if (given('tls-cert-file') !== given('tls-private-key-file'))
    refuse('--tls-cert-file and --tls-private-key-file need each other');
  if (given('authorization-mode') && given('authorization-config'))
    refuse('--authorization-config and --authorization-mode exclude each other');
  return true;
}

const nodeOption = {
  /** Run this machine as a node: pods are processes. Default false. */
  node: group<boolean | NodeOptions>(nodeOptions),
};

export const startOptions = {
  ...storeOptions,
  ...folderOptions,
  ...localDoorOptions,
  ...secureDoorOptions,
  ...pluginOptions,
  ...extensionOptions,
  ...servingOptions,
  ...controllerOptions,
  ...nodeOption,
  ...localOptions,
  ...manifestOptions,
  ...settingOptions,
  ...limitOptions,
  ...protectionOptions,
  ...auditOptions,
  ...watcherOptions,
};

export type StartOptions = OptionsOf<typeof startOptions>;
