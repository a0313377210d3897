/** Rights that are meant for one thing, used for another: a PUT or an apply that creates, and a rule for all paths. */
import { type Attack, codesText } from '../attack.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const apply = { 'content-type': 'application/apply-patch+yaml' };
const core = '/api/v1/namespaces/default';

/** Kinds of which a PUT may create an object, and some of which it may not. */
const objects: readonly (readonly [string, object])[] = [
  [`${core}/configmaps`, { apiVersion: 'v1', kind: 'ConfigMap' }],
  [`${core}/services`, { apiVersion: 'v1', kind: 'Service', spec: { ports: [{ port: 80 }] } }],
  [`${core}/endpoints`, { apiVersion: 'v1', kind: 'Endpoints' }],
  [`${core}/limitranges`, { apiVersion: 'v1', kind: 'LimitRange', spec: { limits: [] } }],
  [`${core}/events`, { apiVersion: 'v1', kind: 'Event', involvedObject: { namespace: 'default' } }],
  [
    '/apis/coordination.k8s.io/v1/namespaces/default/leases',
    { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
  ],
  [
    `${rbac}/namespaces/default/roles`,
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', rules: [] },
  ],
  ['/api/v1/nodes', { apiVersion: 'v1', kind: 'Node' }],
  [
    '/apis/scheduling.k8s.io/v1/priorityclasses',
    { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', value: 1 },
  ],
];

/** Paths of the backup and of snapshots, as they are and as servers may take others for them. */
const backupPaths = ['backup', 'snapshots', 'snapshots/..%2f..%2fetc', 'snapshots/a/load'].flatMap((name) => [
  ...['', '/', '?a=b'].map((end) => `/wherry/${name}${end}`),
  `/wherry/%${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
  `/wherry%2f${name}`,
  `/wherry//${name}`,
  `//wherry/${name}`,
  `/wherry/x/../${name}`,
]);

export const attack: Attack = {
  name: 'rights for one thing used for another',
  run: async (server) => {
    const gotIn: string[] = [];
    const codes: number[] = [];
    const rules = [
      {
        apiGroups: ['*'],
        resources: objects.map(([path]) => path.split('/').at(-1)),
        verbs: ['get', 'update', 'patch'],
      },
      { nonResourceURLs: ['*'], verbs: ['*'] },
    ];
    const metadata = { name: 'borrowed' };
    await server.askLocally(`${rbac}/clusterroles`, { method: 'POST', body: { metadata, rules } });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'borrowed' };
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: server.nameOf('nobody') }];
    await server.askLocally(`${rbac}/clusterrolebindings`, {
      method: 'POST',
      body: { metadata, roleRef, subjects },
    });
    for (const [path, object] of objects) {
      const body = { metadata: { name: 'made-by-nobody' }, ...object };
      const place = `${path}/made-by-nobody`;
      const tries = [
        ['PUT', await server.ask('nobody', place, { method: 'PUT', body })],
        [
          'apply',
          await server.ask('nobody', `${place}?fieldManager=a`, { method: 'PATCH', headers: apply, body }),
        ],
        [
          'apply with force',
          await server.ask('nobody', `${place}?fieldManager=a&force=true`, {
            method: 'PATCH',
            headers: apply,
            body,
          }),
        ],
      ] as const;
      for (const [how, { status }] of tries) {
        codes.push(status);
        if (status < 400) gotIn.push(`${how} creates ${path}`);
      }
      const { status } = await server.askLocally(place);
      if (status !== 404) gotIn.push(`${path} has an object of nobody`);
    }
    for (const path of backupPaths)
      for (const method of path.includes('snapshots/') ? ['GET', 'PUT', 'POST', 'DELETE'] : ['GET']) {
        const { status } = await server.ask('nobody', path, { method });
        codes.push(status);
        if (status !== 403 && status !== 404)
          gotIn.push(`a rule for all paths uses the backup or snapshots: ${method} ${path} ${status}`);
      }
    await server.askLocally(`${rbac}/clusterrolebindings/borrowed`, { method: 'DELETE' });
    await server.askLocally(`${rbac}/clusterroles/borrowed`, { method: 'DELETE' });
    return { gotIn: [...new Set(gotIn)], says: codesText(codes) };
  },
};
