/** The commands, as help and completion show them: what each does, and which words it takes. */
import { configActions, shells } from '../cluster/options/commands.ts';
import { type Command, commands, type NameKind } from '../cluster/options/option.ts';

/** How a shell completes a word: from words, files, folders, or known names of a kind. */
export type WordForm = readonly string[] | 'files' | 'folders' | NameKind;

export interface CommandForm {
  /** What follows the name of the command. */
  readonly usage: string;
  /** What the command does, in one line. */
  readonly summary: string;
  /** The words it takes, in order. Default: none. */
  readonly words?: readonly WordForm[];
  /** Command lines with what they do. */
  readonly examples?: readonly (readonly [line: string, does: string])[];
}

export const commandForms: Readonly<Record<Command, CommandForm>> = {
  up: {
    usage: '[options]',
    summary: 'run the cluster: API server, controllers, and this machine as a node',
    examples: [
      ['wherry up', "keeps objects, pods and logs in the user's data folder"],
      ['wherry up -d --name dev', 'a cluster of its own, in the background'],
      ['wherry up --in-memory --port 0', 'keeps nothing, on a free port'],
      ['wherry up --simulated-nodes 100', 'pretends to run pods, on a hundred nodes'],
      ['wherry up --ingress-port 8088', 'lets ingresses lead traffic to services'],
    ],
  },
  list: { usage: '[options]', summary: 'list the clusters of this user' },
  status: { usage: '[NAME] [options]', summary: 'tell what a cluster does', words: ['clusters'] },
  stop: {
    usage: '[NAME] [options]',
    summary: 'stop a cluster that runs elsewhere, as Ctrl-C does',
    words: ['clusters'],
  },
  restart: {
    usage: '[NAME] [options]',
    summary: 'stop a cluster, and start it in the background with the same options',
    words: ['clusters'],
  },
  logs: {
    usage: '[NAME] [options]',
    summary: 'print the log of a cluster in the background',
    words: ['clusters'],
    examples: [['wherry logs -f dev', 'goes on with what is logged later']],
  },
  delete: {
    usage: '[NAME] [options]',
    summary: 'delete a cluster with its data and its context',
    words: ['clusters'],
  },
  snapshot: {
    usage: 'save|load|list|delete [SNAPSHOT] [options]',
    summary: 'save the objects of a running cluster, and return to them',
    words: [['save', 'load', 'list', 'delete'], 'snapshots'],
    examples: [
      ['wherry snapshot save clean', 'keeps all objects under this name'],
      ['wherry snapshot load clean', 'returns to them'],
    ],
  },
  serve: {
    usage: '[options]',
    summary: 'run the API server, with the controllers that keep house for it',
    examples: [
      ['wherry serve --in-memory', 'an API server alone'],
      ['wherry serve --store etcd --etcd-servers http://127.0.0.1:2379', 'one of several on an etcd'],
    ],
  },
  node: {
    usage: '--server URL [options]',
    summary: 'run this machine as a node of a server elsewhere',
    examples: [
      ['wherry token create', 'prints, at the server, the whole command for a node'],
      ['wherry node --server http://127.0.0.1:8080', 'a further node on the machine of the server'],
    ],
  },
  test: {
    usage: '[options] -- COMMAND…',
    summary: 'run a command against a fresh cluster',
    examples: [
      ['wherry test -- npm test', 'KUBECONFIG and more lead to the cluster'],
      ['wherry test --simulated-nodes 3 -- pytest', 'with nodes, so that deployments become ready'],
    ],
  },
  open: {
    usage: 'PATH… [options]',
    summary:
      'show a dump of a cluster: a folder, an archive or files, as kubectl and support tools make them',
    words: ['files'],
    examples: [
      ['wherry open must-gather.tar.gz', 'then kubectl -s 127.0.0.1:8080 get pods -A'],
      ['wherry open pods.yaml events.json --port 0', 'several dumps as one cluster'],
    ],
  },
  import: {
    usage: '[options]',
    summary: 'copy a live cluster, or a part of it, into a data folder or a running one; it is read gently',
    examples: [
      ['wherry import --context production --namespaces shop', 'then wherry open copy'],
      ['wherry import --context production --name dev', 'into a running cluster'],
      ['wherry import --alive', 'then wherry up --data-dir copy --simulated-nodes 5'],
    ],
  },
  record: {
    usage: '[options]',
    summary: 'follow a live cluster and keep every change; it is read alone, and shown as it is and was',
    examples: [
      ['wherry record --context production', 'then kubectl -s 127.0.0.1:8080 get pods -A'],
      ['wherry record --kinds pods,deployments.apps --history 7d', 'some kinds, for longer'],
    ],
  },
  backup: {
    usage: 'FILE [options]',
    summary: 'write all objects of a running server to a file',
    words: ['files'],
    examples: [['wherry backup today.backup', 'from the server on port 8080']],
  },
  restore: {
    usage: 'FILE [options]',
    summary: 'make a data folder from such a file, or fill an etcd',
    words: ['files'],
    examples: [['wherry restore today.backup --data-dir other', 'into a folder that holds no objects yet']],
  },
  problems: {
    usage: '[options]',
    summary: 'print what is not well in a running cluster, and why',
    examples: [['wherry problems -o json', 'for programs; the code is 1 when there are errors']],
  },
  history: {
    usage: 'KIND/NAME [options]',
    summary: 'print the versions of an object of a running cluster: when, by whom, what changed',
    examples: [
      ['wherry history deploy/web -n shop --since 1h', 'what changed in it in the last hour'],
      ['wherry history deploy/web -n shop --diff', 'with every field before and after'],
    ],
  },
  timeline: {
    usage: '[options]',
    summary: 'print what happened in a running cluster, or in a namespace of it',
    examples: [['wherry timeline -n shop --since 15m', 'changes and events, the oldest first']],
  },
  at: {
    usage: 'TIME get KIND [NAME…] [options]',
    summary: 'print objects of a running cluster as they were',
    words: [[], ['get']],
    examples: [
      ['wherry at 15m get pods -n shop', 'as they were a quarter of an hour ago'],
      ['wherry at 09:30 get deploy web -n shop -o yaml', 'at half past nine'],
    ],
  },
  token: {
    usage: 'create|list|delete [options]',
    summary: 'make, list and delete the tokens that nodes join with',
    words: [['create', 'list', 'delete']],
    examples: [
      ['wherry token create --ttl 1h', 'prints the command with which a node joins'],
      ['wherry token delete abcdef', 'by its first part'],
    ],
  },
  kubeconfig: {
    usage: '[options]',
    summary: 'print a kubeconfig for the administrator or any user of the secure door',
    examples: [['wherry kubeconfig --user jane --group developers --output jane.yaml', 'for a user']],
  },
  cleanup: {
    usage: '[options]',
    summary: 'remove the containers that a cluster has left in a container engine',
  },
  envtest: {
    usage: 'FOLDER [options]',
    summary: 'write etcd, kube-apiserver and kubectl for test suites that start these',
    words: ['folders'],
    examples: [['wherry envtest bin', 'then KUBEBUILDER_ASSETS=$PWD/bin go test ./...']],
  },
  config: {
    usage: `${configActions.join('|')} [options]`,
    summary: 'print, check or begin a file with options, wherry.yaml, or print its JSON schema',
    words: [configActions],
    examples: [
      ['wherry config init', 'writes a wherry.yaml to begin with, and its schema for editors'],
      ['wherry config check --config dev.yaml', 'names every error with its line and column'],
      ['wherry config print', 'the options in force, and where each comes from'],
    ],
  },
  doctor: {
    usage: '[options]',
    summary: 'look at this machine: what is missing, what follows from it, what to do about it',
    examples: [['wherry doctor -o json', 'for programs; the code is 1 when wherry up would not start']],
  },
  completion: {
    usage: shells.join('|'),
    summary: 'print a script with which a shell completes command lines of wherry',
    words: [shells],
    examples: [
      ['source <(wherry completion bash)', 'in ~/.bashrc; for zsh in ~/.zshrc, behind compinit'],
      ['wherry completion fish > ~/.config/fish/completions/wherry.fish', 'once'],
      ['wherry completion powershell | Out-String | Invoke-Expression', 'in $PROFILE'],
    ],
  },
  help: {
    usage: '[COMMAND]',
    summary: 'print what --help prints',
    words: [commands],
  },
  version: { usage: '', summary: 'print the version' },
};

/** The commands as the overview groups them. */
export const commandGroups: readonly (readonly [title: string, commands: readonly Command[]])[] = [
  ['Run a cluster', ['up', 'serve', 'node', 'test']],
  ['Find it again', ['list', 'status', 'stop', 'restart', 'logs', 'snapshot', 'delete']],
  [
    'Look after it',
    ['problems', 'history', 'timeline', 'at', 'kubeconfig', 'token', 'backup', 'restore', 'cleanup'],
  ],
  ['Around it', ['open', 'import', 'record', 'config', 'doctor', 'envtest', 'completion', 'help', 'version']],
];
