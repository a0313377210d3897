/** Claims and their classes, through the API: events of the binder, delayed binding, ephemeral volumes. */
import { describe, expect, it } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { makeNode, podNamed, until, untilList } from './objects.ts';

const api = useCluster();
const claims = '/api/v1/namespaces/default/persistentvolumeclaims';
const volumes = '/api/v1/persistentvolumes';
const pods = '/api/v1/namespaces/default/pods';
const classes = '/apis/storage.k8s.io/v1/storageclasses';

const makeClass = async (name: string, provisioner: string, more: object = {}): Promise<void> => {
  const reply = await api.post(classes, { metadata: { name }, provisioner, ...more });
  expect(reply.status).toBe(200);
};

const delayed = { volumeBindingMode: 'WaitForFirstConsumer' };

const makeClaim = async (name: string, spec: object = {}): Promise<Json> => {
  const reply = await api.post(claims, {
    metadata: { name },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  });
  expect(reply.status).toBe(200);
  return reply.body;
};

const makeVolume = async (name: string, spec: object = {}, metadata: object = {}): Promise<void> => {
  const reply = await api.post(volumes, {
    metadata: { name, ...metadata },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      hostPath: { path: `/tmp/wherry-${name}` },
      ...spec,
    },
  });
  expect(reply.status).toBe(200);
};

const onNode = (name: string): object => ({
  required: {
    nodeSelectorTerms: [
      { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [name] }] },
    ],
  },
});

const using = (claimName: string): object => ({
  volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }],
});

const phase = (wanted: string) => (object: Json) => object.status?.phase === wanted;

const told = async (name: string, reason: string): Promise<Json> => {
  const isMeant = (event: Json): boolean => event.involvedObject.name === name && event.reason === reason;
  const items = await untilList(api, '/api/v1/namespaces/default/events', (events) => events.some(isMeant));
  return items.find(isMeant);
};

const refused = (name: string, text: string): Promise<Json> =>
  until(api, `${pods}/${name}`, ({ status }) =>
    status.conditions?.some(({ type, message }: Json) => type === 'PodScheduled' && message?.includes(text)),
  );

describe('a claim that no volume fits', () => {
  it('says what it waits for', async () => {
    await makeClass('delayed', 'example.com/disks', delayed);
    await makeClass('inner', 'kubernetes.io/imaginary');
    await makeClass('moved', 'kubernetes.io/gce-pd');
    await makeClaim('none', { storageClassName: '' });
    expect(await told('none', 'FailedBinding')).toMatchObject({
      type: 'Normal',
      message: 'no persistent volumes available for this claim and no storage class is set',
      source: { component: 'persistentvolume-controller' },
    });
    await makeClaim('missing', { storageClassName: 'nowhere' });
    expect(await told('missing', 'ProvisioningFailed')).toMatchObject({
      type: 'Warning',
      message: 'storageclass.storage.k8s.io "nowhere" not found',
    });
    await makeClaim('waits', { storageClassName: 'delayed' });
    expect(await told('waits', 'WaitForFirstConsumer')).toMatchObject({
      type: 'Normal',
      message: 'waiting for first consumer to be created before binding',
    });
    await makeClaim('imaginary', { storageClassName: 'inner' });
    expect(await told('imaginary', 'ProvisioningFailed')).toMatchObject({
      type: 'Warning',
      message: 'no volume plugin matched name: kubernetes.io/imaginary',
    });
    await makeClaim('cloud', { storageClassName: 'moved' });
    const { message } = await told('cloud', 'ExternalProvisioning');
    expect(message).toBe(
      "Waiting for a volume to be created either by the external provisioner 'pd.csi.storage.gke.io' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.",
    );
    expect((await api.get(`${claims}/cloud`)).body.metadata.annotations).toEqual({
      'volume.kubernetes.io/storage-provisioner': 'pd.csi.storage.gke.io',
      'volume.beta.kubernetes.io/storage-provisioner': 'pd.csi.storage.gke.io',
    });
  });

  it('names the pods that wait for a node', async () => {
    await api.post(pods, podNamed('p1', { ...using('waits'), nodeSelector: { none: 'such' } }));
    await refused('p1', 'no nodes available');
    expect(await told('waits', 'WaitForPodScheduled')).toMatchObject({
      message: 'waiting for pod p1 to be scheduled',
    });
    await api.delete(`${pods}/p1`, { gracePeriodSeconds: 0 });
  });

  it('gets the default class as soon as there is one', async () => {
    await makeClaim('plain');
    await told('plain', 'FailedBinding');
    const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
    const late = { metadata: { name: 'late', annotations }, provisioner: 'example.com/disks' };
    await api.post(classes, late);
    const given = await until(api, `${claims}/plain`, ({ spec }) => spec.storageClassName === 'late');
    expect(given.status.phase).toBe('Pending');
    await told('plain', 'ExternalProvisioning');
    // The empty name is a name: such a claim wants volumes without a class.
    expect((await api.get(`${claims}/none`)).body.spec.storageClassName).toBe('');
    await api.delete(`${classes}/late`);
  });
});

describe('a claim of a delayed class', () => {
  it('gets the smallest volume that its pod can use on its node', async () => {
    await makeNode(api, 'n1');
    await makeNode(api, 'n2', { labels: { disk: 'yes' } });
    await makeClass('by-hand', 'kubernetes.io/no-provisioner', delayed);
    const here = { storageClassName: 'by-hand', nodeAffinity: onNode('n2') };
    await makeVolume('small-elsewhere', { storageClassName: 'by-hand', nodeAffinity: onNode('n1') });
    await makeVolume('large', { ...here, capacity: { storage: '9Gi' } });
    await makeVolume('middle', { ...here, capacity: { storage: '5Gi' } });
    await until(api, `${volumes}/middle`, phase('Available'));
    await makeClaim('mine', { storageClassName: 'by-hand' });
    await told('mine', 'WaitForFirstConsumer');
    await api.post(pods, podNamed('on-n2', { ...using('mine'), nodeSelector: { disk: 'yes' } }));
    const pod = await until(api, `${pods}/on-n2`, ({ spec }) => spec.nodeName);
    expect(pod.spec.nodeName).toBe('n2');
    const { body: claim } = await api.get(`${claims}/mine`);
    expect(claim).toMatchObject({ spec: { volumeName: 'middle' }, status: { phase: 'Bound' } });
    expect((await api.get(`${volumes}/middle`)).body.metadata.annotations).toEqual({
      'pv.kubernetes.io/bound-by-controller': 'yes',
    });
  });

  it('keeps its pod waiting where nothing fits', async () => {
    await makeClaim('too-much', {
      storageClassName: 'by-hand',
      resources: { requests: { storage: '99Gi' } },
    });
    await api.post(pods, podNamed('greedy', using('too-much')));
    await refused(
      'greedy',
      "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.",
    );
    // A volume that fits ends that.
    const spec = { storageClassName: 'by-hand', capacity: { storage: '100Gi' }, nodeAffinity: onNode('n1') };
    await makeVolume('enough', spec);
    expect((await until(api, `${pods}/greedy`, ({ spec }) => spec.nodeName)).spec.nodeName).toBe('n1');
  });

  it('is provisioned for the node of its pod, within the topologies of the class', async () => {
    const allowedTopologies = [{ matchLabelExpressions: [{ key: 'disk', values: ['yes'] }] }];
    await makeClass('zoned', 'example.com/disks', { ...delayed, allowedTopologies });
    const { metadata } = await makeClaim('made', { storageClassName: 'zoned' });
    await api.post(pods, podNamed('wants-made', using('made')));
    const chosen = await until(
      api,
      `${claims}/made`,
      (claim) => claim.metadata.annotations?.['volume.kubernetes.io/storage-provisioner'],
    );
    expect(chosen.metadata.annotations['volume.kubernetes.io/selected-node']).toBe('n2');
    const waiting = await until(api, `${pods}/wants-made`, ({ status }) => status.nominatedNodeName);
    expect(waiting).toMatchObject({ status: { nominatedNodeName: 'n2' } });
    // The provisioner cannot do it: the pod is scheduled anew, and the node is chosen again.
    await api.patch(`${claims}/made`, {
      metadata: { annotations: { 'volume.kubernetes.io/selected-node': null } },
    });
    const { message } = await told('wants-made', 'FailedScheduling');
    expect(message).toBe(
      'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "made"',
    );
    await until(
      api,
      `${claims}/made`,
      (claim) => claim.metadata.annotations['volume.kubernetes.io/selected-node'],
    );
    const { uid } = metadata;
    await makeVolume(
      'made-for-it',
      {
        storageClassName: 'zoned',
        persistentVolumeReclaimPolicy: 'Delete',
        claimRef: {
          kind: 'PersistentVolumeClaim',
          apiVersion: 'v1',
          namespace: 'default',
          name: 'made',
          uid,
        },
        nodeAffinity: onNode('n2'),
      },
      { annotations: { 'pv.kubernetes.io/provisioned-by': 'example.com/disks' } },
    );
    const pod = await until(api, `${pods}/wants-made`, ({ spec }) => spec.nodeName);
    expect(pod).toMatchObject({ spec: { nodeName: 'n2' } });
    expect(pod.status.nominatedNodeName).toBeUndefined();
  });

  it('leaves a released volume to the provisioner that has made it', async () => {
    await api.delete(`${pods}/wants-made`, { gracePeriodSeconds: 0 });
    await api.delete(`${claims}/made`);
    await until(api, `${volumes}/made-for-it`, phase('Released'));
    // A volume without that mark fails, because its path is not one that may be deleted; it is looked at later.
    await makeVolume('ours', {
      storageClassName: 'ours',
      persistentVolumeReclaimPolicy: 'Delete',
      hostPath: { path: '/srv/x' },
    });
    await makeClaim('brief', { storageClassName: 'ours' });
    await until(api, `${claims}/brief`, phase('Bound'));
    await api.delete(`${claims}/brief`);
    await until(api, `${volumes}/ours`, phase('Failed'));
    expect((await api.get(`${volumes}/made-for-it`)).body.status.phase).toBe('Released');
  });

  it('heeds the room that a driver says it has', async () => {
    const driver = { metadata: { name: 'roomy.example.com' }, spec: { storageCapacity: true } };
    await api.post('/apis/storage.k8s.io/v1/csidrivers', driver);
    await makeClass('roomy', 'roomy.example.com', delayed);
    await makeClaim('roomy', { storageClassName: 'roomy' });
    await api.post(pods, podNamed('roomy', using('roomy')));
    await refused('roomy', '2 node(s) did not have enough free storage');
    await api.post('/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities', {
      metadata: { name: 'n1' },
      storageClassName: 'roomy',
      nodeTopology: { matchLabels: { 'kubernetes.io/hostname': 'n1' } },
      capacity: '10Gi',
    });
    const chosen = await until(
      api,
      `${claims}/roomy`,
      (claim) => claim.metadata.annotations?.['volume.kubernetes.io/selected-node'],
    );
    expect(chosen.metadata.annotations['volume.kubernetes.io/selected-node']).toBe('n1');
  });
});

describe('a pod', () => {
  it('whose claim is immediate and unbound fits nowhere, and says so', async () => {
    await makeClaim('unbound', { storageClassName: '', resources: { requests: { storage: '500Gi' } } });
    await api.post(pods, podNamed('early', using('unbound')));
    await refused(
      'early',
      '0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found',
    );
  });

  it('whose volume is on another node, or is gone, says so', async () => {
    await makeVolume('at-n1', { storageClassName: 'fixed', nodeAffinity: onNode('n1') });
    await makeClaim('fixed', { storageClassName: 'fixed' });
    await until(api, `${claims}/fixed`, phase('Bound'));
    await api.post(pods, podNamed('far', { ...using('fixed'), nodeSelector: { disk: 'yes' } }));
    await refused('far', "1 node(s) didn't match PersistentVolume's node affinity");
  });

  const template = (labels: object = {}): object => ({
    name: 'scratch',
    ephemeral: {
      volumeClaimTemplate: {
        metadata: { labels, annotations: { note: 'short' } },
        spec: {
          accessModes: ['ReadWriteOnce'],
          resources: { requests: { storage: '1Gi' } },
          storageClassName: 'scratch',
        },
      },
    },
  });

  it('with an ephemeral volume gets a claim of its own, which goes with it', async () => {
    await api.post(pods, podNamed('short', { volumes: [template({ app: 'short' })] }));
    const claim = await until(api, `${claims}/short-scratch`, () => true);
    const { uid } = (await api.get(`${pods}/short`)).body.metadata;
    expect(claim.metadata).toMatchObject({
      labels: { app: 'short' },
      annotations: { note: 'short' },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Pod', name: 'short', uid, controller: true, blockOwnerDeletion: true },
      ],
    });
    await makeVolume('scratch', { storageClassName: 'scratch' });
    await until(api, `${pods}/short`, ({ spec }) => spec.nodeName);
    await api.delete(`${pods}/short`, { gracePeriodSeconds: 0 });
    await untilList(api, claims, (items) => items.every(({ metadata }) => metadata.name !== 'short-scratch'));
  });

  it('whose claim belongs to others says so, on itself and to the scheduler', async () => {
    await makeClaim('other-scratch', { storageClassName: 'scratch' });
    await api.post(pods, podNamed('other', { volumes: [template()] }));
    const text = 'PVC default/other-scratch was not created for pod default/other (pod is not owner)';
    expect(await told('other', 'FailedBinding')).toMatchObject({
      type: 'Warning',
      message: `ephemeral volume scratch: ${text}`,
      source: { component: 'ephemeral_volume' },
    });
    await refused('other', text);
  });
});
