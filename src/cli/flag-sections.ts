/** The flags of the command, in the sections and the order of its help. A new flag of a topic needs no line here. */
import { auditOptions } from '../cluster/options/audit.ts';
import {
  backupFlags,
  cleanupFlags,
  envtestFlags,
  everyFlags,
  kubeconfigFlags,
  logFlags,
  testFlags,
  testingFlags,
  tokenFlags,
} from '../cluster/options/commands.ts';
import { controllerOptions } from '../cluster/options/controllers.ts';
import { listenOptions, localDoorOptions } from '../cluster/options/doors.ts';
import { limitOptions } from '../cluster/options/limits.ts';
import {
  joiningOptions,
  localOptions,
  machineOptions,
  nodeFolderFlag,
  nodeServerFlag,
  rangeOptions,
} from '../cluster/options/nodes.ts';
import type { Members } from '../cluster/options/option.ts';
import { authorizationOptions, pluginOptions, protectionOptions } from '../cluster/options/rights.ts';
import { servingOptions } from '../cluster/options/serving.ts';
import { folderOptions, memoryFlag, restoreOptions, storeOptions } from '../cluster/options/store.ts';
import { accountOptions, issuerOptions, otherServerOptions, userOptions } from '../cluster/options/users.ts';

export interface Section {
  readonly title: string;
  readonly topics: readonly Members[];
  /** Lines below the flags. */
  readonly note?: string;
}

export const sections: readonly Section[] = [
  {
    title: 'Options of up and serve',
    topics: [
      localDoorOptions,
      listenOptions,
      folderOptions,
      memoryFlag,
      storeOptions,
      servingOptions,
      auditOptions,
      protectionOptions,
      controllerOptions,
      testingFlags,
    ],
  },
  { title: 'Users of the secure door', topics: [userOptions] },
  { title: 'Users known by an OpenID Connect issuer', topics: [issuerOptions] },
  { title: 'Users known by other servers', topics: [otherServerOptions] },
  { title: 'Service account tokens', topics: [accountOptions] },
  { title: 'What users of the secure door may do', topics: [authorizationOptions] },
  { title: 'Admission', topics: [pluginOptions] },
  { title: 'Limits of up and serve', topics: [limitOptions] },
  { title: 'Options of up', topics: [localOptions] },
  { title: 'Options of node', topics: [nodeServerFlag, joiningOptions, nodeFolderFlag, rangeOptions] },
  { title: 'Options of up and node', topics: [machineOptions] },
  { title: 'Options of backup', topics: [backupFlags] },
  { title: 'Options of restore', topics: [restoreOptions] },
  { title: 'Options of token', topics: [tokenFlags] },
  { title: 'Options of kubeconfig', topics: [kubeconfigFlags] },
  {
    title: 'Options of test',
    topics: [testFlags],
    note: `  The cluster is in memory, runs all controllers, and has a free port and no secure door. The options of serve change
  this, those of its store and data folder excepted; --simulated-nodes N adds nodes.
`,
  },
  { title: 'Options of cleanup', topics: [cleanupFlags] },
  { title: 'Options of envtest', topics: [envtestFlags] },
  { title: 'Options of up, serve, node and test', topics: [logFlags] },
  { title: 'Options of all', topics: [everyFlags] },
];

/** Flags that say where objects are kept, which `wherry test` does not take. */
export const storeTopics: readonly Members[] = [folderOptions, memoryFlag, storeOptions];
