/** How the pages of the documents are run by pages.kubectl.test.ts, and why some blocks are not. */

export interface PageRun {
  /** Undefined: no block of the page is run; `left` says why. */
  readonly session?: {
    /** Commands that run before all others, for what the page takes for granted. */
    readonly before?: readonly string[];
    /** Runs before the first block, where the page takes a server for granted. */
    readonly server?: string;
    /** Commands that run when the server has started. */
    readonly after?: readonly string[];
    /** Files that the page uses and does not show. */
    readonly needs?: Readonly<Record<string, string>>;
    /** How a server ends when the page starts the next. Default SIGTERM. */
    readonly ending?: NodeJS.Signals;
    /** Beginnings of commands before which all servers of the page are stopped. */
    readonly stopsFor?: readonly string[];
    /** Longer ones run before a release alone. */
    readonly tier?: 'release';
  };
  /** Blocks that are not run, by the beginning of their first command, with the reason. */
  readonly left?: Readonly<Record<string, string>>;
}

const serving = { server: 'wherry serve --in-memory' };

/** An application in the namespace `shop`. */
const shop = `apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: colours, namespace: shop }
data: { main: blue }
---
apiVersion: v1
kind: Secret
metadata: { name: payment, namespace: shop }
stringData: { key: of-the-shop }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: shop }
spec:
  replicas: 3
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: 'shop/web:1' }] }
`;

/** The cluster of the context `production`, with that application. */
const production = {
  needs: { 'shop.yaml': shop },
  before: [
    'wherry up -d --name production --in-memory --port 8088 --secure-port off --no-kubeconfig --simulated-nodes 2 --manifests shop.yaml',
    'kubectl --context production -n shop rollout status deployment/web',
  ],
};

export const pageRuns: Readonly<Record<string, PageRun>> = {
  'README.md': { session: { tier: 'release' } },
  'docs/apply.md': { session: { ...serving, tier: 'release' } },
  'docs/backup.md': { session: { tier: 'release', ending: 'SIGKILL' } },
  'docs/compatibility.md': { session: { ...serving, tier: 'release' } },
  'docs/config.md': {
    session: {},
  },
  'docs/conformance.md': { left: { '': 'two servers for a test program that is not part of this project' } },
  'docs/containers.md': {
    left: { '': 'needs Docker; test/clusters/image.alone.release.test.ts builds and runs the image' },
  },
  'docs/controllers.md': { session: { tier: 'release' } },
  'docs/corpus.md': { left: { '': 'test/cli/corpus.test.ts runs the program on manifests of its own' } },
  'docs/custom-kinds.md': { session: { ...serving, tier: 'release' } },
  'docs/differences.md': { session: { tier: 'release' } },
  'docs/dumps.md': { session: { ...production, tier: 'release', stopsFor: ['wherry up -d'] } },
  'docs/recording.md': { session: { ...production, tier: 'release' } },
  'docs/embedding.md': { left: { '': 'test/house/docs.test.ts runs the programs' } },
  'docs/etcd.md': { left: { '': 'needs an etcd; test/clusters/ runs several servers on one' } },
  'docs/first-session.md': { left: { '': 'test/house/first-session.release.test.ts runs and records it' } },
  'docs/getting-started.md': {
    session: { tier: 'release', server: 'wherry up', stopsFor: ['wherry doctor'] },
    left: {
      'npm start -- --port 8123': 'starts a server on a port of its own, and shows no output',
      'npm pack': 'packs and installs; test/house/package.release.test.ts does so',
      'wherry up -d': 'names clusters and processes of a user; test/cli/named.kubectl.test.ts',
      'wherry snapshot save': 'numbers of objects; src/cluster/store/snapshots.test.ts',
      'wherry up --ingress-port': 'an application of the repository, with figures of its load',
      "curl 'localhost:8080/api/v1/watch": 'a watch without an end, of the application',
      'kubectl get pods\n': 'after a restart, of the application',
      'wherry up\n': 'names the network of a machine with the rights of root',
      'wherry up --in-memory': 'two servers that are in the way of each other; test/cli/cli.refused.test.ts',
    },
  },
  'docs/limits-and-metrics.md': {
    session: { tier: 'release', needs: { 'big.txt': 'x'.repeat(70_000) } },
    left: { 'wherry up --in-memory --simulated-nodes 1 --log': 'log lines that later commands bring' },
  },
  'docs/network.md': { left: { '': 'needs the rights of root, and commands without an end' } },
  'docs/next-minor.md': { left: { '': 'needs a checkout of Kubernetes' } },
  'docs/nodes.md': {
    session: { tier: 'release' },
    left: {
      'wherry node': 'names the network of a machine with the rights of root',
      'kubectl drain': 'of the node before',
      'kubectl get nodes\n': 'of the node before, a minute after it was lost',
    },
  },
  'docs/operator.md': { left: { '': 'installs a package of another project into /app, as root' } },
  'docs/options.md': { left: { '': 'is generated, and compared by test/house/docs.test.ts' } },
  'docs/incident.md': { session: { tier: 'release' } },
  'docs/past.md': {
    session: {
      server: 'wherry serve --in-memory',
      after: [
        'kubectl create namespace shop',
        'kubectl create deployment web -n shop --image=shop/web:1 --replicas=2 --field-manager=helm',
        'kubectl scale deployment web -n shop --replicas=5',
        'kubectl set image deployment/web -n shop web=shop/web:2 --field-manager=jane',
        'kubectl expose deployment web -n shop --port=80',
      ],
      tier: 'release',
    },
    left: { 'kubectl get --raw': 'names the version that the answer before has' },
  },
  'docs/pods.md': { left: { '': 'needs the rights of root, for files and limits of containers' } },
  'docs/policies.md': { session: serving },
  'docs/protection.md': { session: { ...serving, tier: 'release' } },
  'docs/runtimes.md': { left: { '': 'needs container engines' } },
  'docs/sharing.md': {
    session: { tier: 'release' },
    left: {
      'wherry serve --oidc-issuer-url': 'needs an issuer of OpenID Connect',
      'wherry serve --token-auth-file tokens.csv --authorization-mode Node,RBAC,Webhook':
        'needs an authorization webhook',
    },
  },
  'docs/storage.md': {
    session: { tier: 'release', server: 'wherry up --data-dir .wherry' },
    left: { 'cat images.yaml': 'names an archive of an image that the page does not make' },
  },
  'docs/testing.md': {
    left: {
      '': 'test/house/docs.test.ts and test/cli/cli.test-run.test.ts run the programs and the command',
    },
  },
};
