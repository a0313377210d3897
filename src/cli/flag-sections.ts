/** The flags of the command by subject, in the order of its help. A new flag of a topic needs no line here. */
import { auditOptions } from '../cluster/options/audit.ts';
import {
  backupFlags,
  cleanupFlags,
  configFlags,
  doctorFlags,
  envtestFlags,
  everyFlags,
  importFlags,
  kubeconfigFlags,
  logFlags,
  openFlags,
  problemFlags,
  testFlags,
  testingFlags,
  tokenFlags,
} from '../cluster/options/commands.ts';
import { controllerOptions } from '../cluster/options/controllers.ts';
import { listenOptions, localDoorOptions } from '../cluster/options/doors.ts';
import { limitOptions } from '../cluster/options/limits.ts';
import { manifestOptions } from '../cluster/options/manifests.ts';
import { deleteFlags, listFlags, logsFlags, namedFlags, snapshotFlags } from '../cluster/options/named.ts';
import {
  joiningOptions,
  localOptions,
  machineFlag,
  machineOptions,
  nodeFolderFlag,
  nodeServerFlag,
  rangeOptions,
  versionOptions,
} from '../cluster/options/nodes.ts';
import { type Command, flagsOf, type Members, type Option } from '../cluster/options/option.ts';
import { askedServerFlags, atFlags, pastFlags } from '../cluster/options/past.ts';
import { recordFlags } from '../cluster/options/recording.ts';
import { authorizationOptions, pluginOptions, protectionOptions } from '../cluster/options/rights.ts';
import { servingOptions } from '../cluster/options/serving.ts';
import { folderOptions, memoryFlag, restoreOptions, storeOptions } from '../cluster/options/store.ts';
import { accountOptions, issuerOptions, otherServerOptions, userOptions } from '../cluster/options/users.ts';

type Form = NonNullable<Option<unknown>['form']>;

export interface Section {
  readonly title: string;
  readonly topics: readonly Members[];
  /** Lines below the flags. */
  readonly note?: string;
}

export const sections: readonly Section[] = [
  { title: 'Which cluster', topics: [namedFlags, listFlags, logsFlags, deleteFlags, snapshotFlags] },
  { title: 'Where it listens', topics: [localDoorOptions, listenOptions] },
  { title: 'Where objects are kept', topics: [folderOptions, memoryFlag, storeOptions] },
  { title: 'What is served', topics: [servingOptions] },
  { title: 'Controllers', topics: [controllerOptions] },
  { title: 'The cluster on this machine', topics: [localOptions, machineFlag] },
  { title: 'Objects to begin with', topics: [manifestOptions] },
  {
    title: 'Joining a server',
    topics: [nodeServerFlag, joiningOptions, nodeFolderFlag, rangeOptions, versionOptions],
  },
  { title: 'What runs pods', topics: [machineOptions] },
  { title: 'Users of the secure door', topics: [userOptions] },
  { title: 'Users known by an OpenID Connect issuer', topics: [issuerOptions] },
  { title: 'Users known by other servers', topics: [otherServerOptions] },
  { title: 'Service account tokens', topics: [accountOptions] },
  { title: 'What users of the secure door may do', topics: [authorizationOptions] },
  { title: 'Admission and protection', topics: [pluginOptions, protectionOptions] },
  { title: 'Audit', topics: [auditOptions] },
  { title: 'Limits', topics: [limitOptions] },
  { title: 'Problems', topics: [problemFlags] },
  { title: 'The past', topics: [pastFlags, atFlags, askedServerFlags] },
  { title: 'The server to back up', topics: [backupFlags] },
  { title: 'Where a backup is restored', topics: [restoreOptions] },
  { title: 'Tokens', topics: [tokenFlags] },
  { title: 'Kubeconfigs', topics: [kubeconfigFlags] },
  {
    title: 'Tests',
    topics: [testFlags, testingFlags],
    note: `  The cluster of wherry test is in memory, runs all controllers, and has a free port and no secure door. The options
  of serve change this, those of its store and data folder excepted; --simulated-nodes N adds nodes.
`,
  },
  { title: 'Dumps', topics: [openFlags] },
  { title: 'Copying a cluster', topics: [importFlags] },
  { title: 'Recording a cluster', topics: [recordFlags] },
  { title: 'What is cleaned up', topics: [cleanupFlags] },
  { title: 'Programs for envtest', topics: [envtestFlags] },
  { title: 'A file with options', topics: [configFlags] },
  { title: 'The machine', topics: [doctorFlags] },
  { title: 'Logging', topics: [logFlags] },
  { title: 'Help', topics: [everyFlags] },
];

/** Flags that say where objects are kept, which `wherry test` does not take. */
const storeFlags: ReadonlySet<string> = new Set(
  [folderOptions, memoryFlag, storeOptions].flatMap((topic) => flagsOf(topic).map(({ flag }) => flag)),
);

/** `wherry test` takes the flags of serve, except those that say where objects are kept. */
const isTakenBy = (command: Command, { flag, for: takers }: Form): boolean =>
  takers.includes(command) || (command === 'test' && takers.includes('serve') && !storeFlags.has(flag));

/** The flags that a command takes, of one section. */
export const flagsTaken = (command: Command, { topics }: Section): readonly Form[] =>
  topics.flatMap(flagsOf).filter((form) => isTakenBy(command, form));

/** Whether a command takes a flag, in any of its declarations. */
export const takesFlag = (command: Command, flag: string): boolean =>
  sections.some((section) => flagsTaken(command, section).some((form) => form.flag === flag));
