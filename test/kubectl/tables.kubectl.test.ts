/** What `kubectl get` and `describe` print for every kind: columns come from the server. */
import { beforeAll, expect, test } from 'vitest';
import { housekeeping } from '../support/http.ts';
import { describeWith } from '../support/tools.ts';
import { withKubectl } from './kubectl.ts';

const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image: 'example.com/web:1' }] },
};
const once = { metadata: { labels: { app: 'job' } }, spec: { ...template.spec, restartPolicy: 'Never' } };
const object = (apiVersion: string, kind: string, name: string, rest: object = {}) => ({
  apiVersion,
  kind,
  metadata: { name, ...('metadata' in rest ? (rest.metadata as object) : {}) },
  ...Object.fromEntries(Object.entries(rest).filter(([key]) => key !== 'metadata')),
});

const manifests = [
  object('v1', 'Pod', 'pod', { metadata: { labels: { app: 'web' } }, spec: template.spec }),
  object('v1', 'Service', 'svc', {
    spec: { clusterIP: '10.0.0.77', selector: { app: 'web' }, ports: [{ port: 80 }] },
  }),
  object('v1', 'Endpoints', 'ep', { subsets: [{ addresses: [{ ip: '10.1.1.1' }], ports: [{ port: 80 }] }] }),
  object('v1', 'ReplicationController', 'rc', { spec: { replicas: 0, selector: { app: 'web' }, template } }),
  object('v1', 'PersistentVolume', 'pv', {
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
      hostPath: { path: '/tmp' },
    },
  }),
  object('v1', 'PersistentVolumeClaim', 'pvc', {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  }),
  object('v1', 'LimitRange', 'limits', { spec: { limits: [{ type: 'Pod', max: { cpu: '2' } }] } }),
  object('v1', 'Secret', 'secret', { data: { a: 'YQ==', b: 'Yg==' } }),
  object('v1', 'ConfigMap', 'config', { data: { a: 'b' } }),
  object('v1', 'PodTemplate', 'template', { template }),
  object('v1', 'ServiceAccount', 'robot'),
  object('v1', 'Namespace', 'space'),
  object('v1', 'Node', 'node', {
    metadata: { labels: { 'node-role.kubernetes.io/worker': '' } },
    status: {
      conditions: [{ type: 'Ready', status: 'True' }],
      addresses: [{ type: 'InternalIP', address: '192.0.2.1' }],
      nodeInfo: {
        machineID: 'm',
        systemUUID: 's',
        bootID: 'b',
        kernelVersion: '6.1',
        osImage: 'Debian',
        containerRuntimeVersion: 'process://1',
        kubeletVersion: 'v1.36.0',
        kubeProxyVersion: 'v1.36.0',
        operatingSystem: 'linux',
        architecture: 'arm64',
      },
    },
  }),
  object('v1', 'Event', 'event', {
    involvedObject: { kind: 'Pod', name: 'pod', namespace: 'default' },
    reason: 'Started',
    message: 'it started',
    type: 'Normal',
    source: { component: 'kubelet' },
  }),
  object('extensions/v1beta1', 'Job', 'job', { spec: { template: once } }),
  object('extensions/v1beta1', 'Ingress', 'ing', {
    spec: {
      rules: [
        { host: 'a.example.com', http: { paths: [{ backend: { serviceName: 'svc', servicePort: 80 } }] } },
      ],
    },
  }),
  object('extensions/v1beta1', 'HorizontalPodAutoscaler', 'hpa', {
    spec: {
      scaleRef: { kind: 'ReplicationController', name: 'rc', apiVersion: 'v1', subresource: 'scale' },
      maxReplicas: 3,
      cpuUtilization: { targetPercentage: 80 },
    },
  }),
];

/** For each kind: the arguments of get, the headings, and the row. `~` stands for an age. */
const tables: [what: string, headings: string, row: string][] = [
  ['pod/pod', 'NAME READY STATUS RESTARTS AGE', 'pod 0/1 Pending 0 ~'],
  ['svc/svc', 'NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE', 'svc ClusterIP 10.0.0.77 <none> 80/TCP ~'],
  ['ep/ep', 'NAME ENDPOINTS AGE', 'ep 10.1.1.1:80 ~'],
  ['rc/rc', 'NAME DESIRED CURRENT READY AGE', 'rc 0 0 0 ~'],
  [
    'pv/pv',
    'NAME|CAPACITY|ACCESS MODES|RECLAIM POLICY|STATUS|CLAIM|STORAGECLASS|VOLUMEATTRIBUTESCLASS|REASON|AGE',
    'pv 1Gi RWO,ROX Retain Pending <unset> ~',
  ],
  [
    'pvc/pvc',
    'NAME|STATUS|VOLUME|CAPACITY|ACCESS MODES|STORAGECLASS|VOLUMEATTRIBUTESCLASS|AGE',
    'pvc Pending <unset> ~',
  ],
  ['limits/limits', 'NAME|CREATED AT', 'limits @'],
  ['secret/secret', 'NAME TYPE DATA AGE', 'secret Opaque 2 ~'],
  ['cm/config', 'NAME DATA AGE', 'config 1 ~'],
  ['podtemplate/template', 'NAME|CONTAINERS|IMAGES|POD LABELS', 'template c example.com/web:1 app=web'],
  ['sa/robot', 'NAME AGE', 'robot ~'],
  ['ns/space', 'NAME STATUS AGE', 'space Active ~'],
  ['node/node', 'NAME STATUS ROLES AGE VERSION', 'node Ready worker ~ v1.36.0'],
  ['ev/event', 'LAST SEEN|TYPE|REASON|OBJECT|MESSAGE', '<unknown> Normal Started pod/pod it_started'],
  ['job/job', 'NAME STATUS COMPLETIONS DURATION AGE', 'job Running 0/1 ~'],
  ['ing/ing', 'NAME CLASS HOSTS ADDRESS PORTS AGE', 'ing <none> a.example.com 80 ~'],
  [
    'hpa/hpa',
    'NAME REFERENCE TARGETS MINPODS MAXPODS REPLICAS AGE',
    'hpa ReplicationController/rc cpu:_<unknown>/80% 1 3 0 ~',
  ],
  ['cs/etcd-0', 'NAME STATUS MESSAGE ERROR', 'etcd-0 Healthy ok'],
];

const wide: [what: string, headings: string][] = [
  ['pod/pod', 'NAME|READY|STATUS|RESTARTS|AGE|IP|NODE|NOMINATED NODE|READINESS GATES'],
  ['svc/svc', 'NAME|TYPE|CLUSTER-IP|EXTERNAL-IP|PORT(S)|AGE|SELECTOR'],
  ['rc/rc', 'NAME|DESIRED|CURRENT|READY|AGE|CONTAINERS|IMAGES|SELECTOR'],
  [
    'node/node',
    'NAME|STATUS|ROLES|AGE|VERSION|INTERNAL-IP|EXTERNAL-IP|OS-IMAGE|KERNEL-VERSION|CONTAINER-RUNTIME',
  ],
  ['ev/event', 'LAST SEEN|TYPE|REASON|OBJECT|SUBOBJECT|SOURCE|MESSAGE|FIRST SEEN|COUNT|NAME'],
  ['pvc/pvc', 'NAME|STATUS|VOLUME|CAPACITY|ACCESS MODES|STORAGECLASS|VOLUMEATTRIBUTESCLASS|AGE|VOLUMEMODE'],
  ['job/job', 'NAME|STATUS|COMPLETIONS|DURATION|AGE|CONTAINERS|IMAGES|SELECTOR'],
];

/** Cells of a printed row in short form; cells with blanks are joined, ages and times are replaced by a sign. */
const short = (row: string[]): string =>
  row
    .filter((cell) => cell !== '')
    .map((cell) =>
      cell
        .replace(/^\d+[sm]$/, '~')
        .replace(/^\d{4}-\d\d-\d\dT[\d:]+Z$/, '@')
        .replaceAll(' ', '_'),
    )
    .join(' ');

const headingsOf = (text: string): string[] => (text.includes('|') ? text.split('|') : text.split(' '));

describeWith('kubectl')('kubectl get', () => {
  const kubectl = withKubectl({ controllers: housekeeping });
  beforeAll(async () => {
    const list = { apiVersion: 'v1', kind: 'List', items: manifests };
    await kubectl().run('create', '-f', kubectl().file('all.json', list));
  });

  test.each(tables)('%s', async (what, headings, row) => {
    const [heading, ...rows] = await kubectl().table('get', what);
    expect(heading).toEqual(headingsOf(headings));
    expect(rows.map(short)).toEqual([row]);
  });

  test.each(wide)('%s -o wide', async (what, headings) => {
    const [heading] = await kubectl().table('get', what, '-o', 'wide');
    expect(heading).toEqual(headingsOf(headings));
  });

  test('all shows the kinds of the category, with their names', async () => {
    const text = await kubectl().run('get', 'all');
    for (const name of [
      'pod/pod',
      'service/svc',
      'replicationcontroller/rc',
      'job.batch/job',
      'horizontalpodautoscaler.autoscaling/hpa',
    ])
      expect(text.split(`${name} `), text).toHaveLength(2);
  });

  test('several kinds at once, --show-labels, -L, --sort-by and --no-headers', async () => {
    expect(await kubectl().run('get', 'cm,secret,ns')).toMatch(
      /configmap\/config[\s\S]*secret\/secret[\s\S]*namespace\/space/,
    );
    expect((await kubectl().table('get', 'pods', '--show-labels'))[1]!.at(-1)).toBe('app=web');
    expect((await kubectl().table('get', 'pods', '-L', 'app'))[1]!.at(-1)).toBe('web');
    const names = (await kubectl().table('get', 'ns', '--sort-by=.metadata.name', '--no-headers')).map(
      ([name]) => name,
    );
    expect(names).toEqual([...names].sort());
  });

  test('-w prints rows in columns as they change', async () => {
    const watching = kubectl().follow('get', 'ns', 'space', '-w');
    await watching.until(/^space +Active +\d+s$/m);
    await kubectl().run('delete', 'ns', 'space', '--wait=false');
    await watching.until(/^space +Terminating +\d+s$/m);
    await watching.stop();
  });

  test('describe tells of each of them', async () => {
    const described = tables.flatMap(([what]) => (what.startsWith('ns/') ? [] : [what]));
    const { code, stdout, stderr } = await kubectl().try('describe', ...described);
    expect(code, stderr).toBe(0);
    const names = [...stdout.matchAll(/^Name: +(\S+)$/gm)].map(([, name]) => name);
    expect(names).toEqual(described.map((what) => what.split('/')[1]));
  });
});
