/**
 * Proves what clients notice of a minor beyond its versions and fields. Each test does the same on a cluster of each of
 * these minors, and says in which of them the answer is another.
 */
import { request } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { HookHost } from '../../src/extensions/calls/hook-host.fixture.ts';
import { Client, type Json, type Reply, strategicPatch } from '../support/http.ts';
import { isRelease } from '../support/tier.ts';

/** `npm test` has those that most of the tests tell apart. */
const minors = isRelease ? [22, 24, 26, 27, 28, 29, 30, 31, 32, 33, 34, 36] : [22, 27, 30, 31, 33, 36];
const clusters = new Map<number, Cluster>();
const hooks = new HookHost();
beforeAll(async () => {
  await hooks.start();
  for (const minor of minors)
    clusters.set(minor, await start({ kubernetes: `1.${minor}`, chance: { randomBelow: () => 0 } }));
  await everywhere((client) => accountIn(client, 'default'));
});
afterAll(async () => {
  await Promise.all([...clusters.values()].map((cluster) => cluster.close()));
  await hooks.close();
});

/** Waits for the account that pods of a namespace have; controllers make it. */
const accountIn = (client: Client, namespace: string): Promise<Reply> =>
  until(
    () => client.get(`/api/v1/namespaces/${namespace}/serviceaccounts/default`),
    ({ status }) => status === 200,
  );

/** What each minor answers: `{ 22: …, 24: …, … }`. */
async function everywhere<T>(ask: (client: Client, minor: number) => Promise<T>): Promise<Record<number, T>> {
  const answers = minors.map(
    async (minor) => [minor, await ask(new Client(clusters.get(minor)!.url), minor)] as const,
  );
  return Object.fromEntries(await Promise.all(answers));
}

/** Values by the minor from which they hold: `since([22, 'a'], [30, 'b'])`. */
const since = <T>(...from: readonly (readonly [minor: number, value: T])[]): Record<number, T> =>
  Object.fromEntries(minors.map((minor) => [minor, from.filter(([first]) => first <= minor).at(-1)![1]]));

const core = '/api/v1/namespaces/default';
const pods = `${core}/pods`;
const container = { name: 'c', image: 'i' };
const pod = (name: string, spec: object = {}, metadata: object = {}) => ({
  metadata: { name, ...metadata },
  spec: { containers: [container], ...spec },
});
const template = (spec: object = {}) => ({
  metadata: { labels: { a: 'b' } },
  spec: { containers: [container], ...spec },
});
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const definition = (group: string, spec: object, version: object = {}) => ({
  metadata: { name: `wares.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'wares', kind: 'Ware' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        ...version,
      },
    ],
  },
});
const wares = (group: string) => `/apis/${group}/v1/namespaces/default/wares`;
const ware = (group: string, name: string, spec: object) => ({
  kind: 'Ware',
  apiVersion: `${group}/v1`,
  metadata: { name },
  spec,
});
/** Asks until the answer is as wanted: kinds of a definition are served a moment later. */
async function until(ask: () => Promise<Reply>, isThere: (reply: Reply) => boolean): Promise<Reply> {
  for (;;) {
    const reply = await ask();
    if (isThere(reply)) return reply;
  }
}
async function define(client: Client, body: object, group: string): Promise<Json> {
  const { body: made } = await client.post(definitions, body);
  await until(
    () => client.get(wares(group)),
    ({ status }) => status === 200,
  );
  return made;
}

it('has ephemeral containers and the admission of PodSecurity from 1.23 on, and evictions of both versions', async () => {
  const seen = await everywhere(async (client) => {
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await client.post('/api/v1/namespaces', { metadata: { name: 'strict', labels } });
    await accountIn(client, 'strict');
    const { status } = await client.post('/api/v1/namespaces/strict/pods', pod('p'));
    await client.post(pods, pod('one'));
    await client.post(pods, pod('two'));
    const evict = async (name: string, version: string) => {
      const body = { kind: 'Eviction', apiVersion: `policy/${version}`, metadata: { name } };
      return (await client.post(`${pods}/${name}/eviction`, body)).status;
    };
    const { body } = await client.get(`${pods}/none/ephemeralcontainers`);
    return [status, body.message, await evict('one', 'v1'), await evict('two', 'v1beta1')];
  });
  expect(seen).toEqual(
    since(
      [22, [201, 'the server could not find the requested resource', 201, 201]],
      [23, [403, 'pods "none" not found', 201, 201]],
    ),
  );
});

it('makes secrets with tokens of accounts until 1.23', async () => {
  const seen = await everywhere(async (client, minor) => {
    const { body } = await until(
      () => client.get(`${core}/serviceaccounts/default`),
      (reply) => minor > 23 || reply.body.secrets,
    );
    return body.secrets?.length ?? 0;
  });
  expect(seen).toEqual(since([22, 1], [24, 0]));
});

it('serves pod security policies until 1.24', async () => {
  const path = '/apis/policy/v1beta1/podsecuritypolicies';
  const strategy = { rule: 'RunAsAny' };
  const spec = { seLinux: strategy, runAsUser: strategy, supplementalGroups: strategy, fsGroup: strategy };
  const seen = await everywhere(
    async (client) => (await client.post(path, { metadata: { name: 'p' }, spec })).status,
  );
  expect(seen).toEqual(since([22, 201], [25, 404]));
});

it('knows the cluster name of objects until 1.24, and the status of network policies from 1.24 to 1.27', async () => {
  const policies = '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies';
  const seen = await everywhere(async (client) => {
    const map = await client.post(`${core}/configmaps`, { metadata: { name: 'm', clusterName: 'c' } });
    const policy = await client.post(policies, {
      metadata: { name: 'p' },
      spec: { podSelector: {} },
      status: { conditions: [] },
    });
    const { status } = await client.get(`${policies}/p/status`);
    return [map.body.metadata.clusterName, map.warnings.length, policy.warnings.length, status];
  });
  expect(seen).toEqual(
    since(
      [22, [undefined, 0, 0, 404]],
      [24, [undefined, 0, 0, 200]],
      [25, [undefined, 1, 0, 200]],
      [28, [undefined, 1, 1, 404]],
    ),
  );
});

it('notes its servers in leases, and since when the use of tokens in secrets is noted', async () => {
  const names = async (client: Client, path: string) =>
    (await client.get(path)).body.items.map(({ metadata }: Json) => metadata.name.replace(/[^-]{26}$/, '…'));
  const seen = await everywhere(async (client) => [
    await names(client, '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'),
    await names(client, '/api/v1/namespaces/kube-system/configmaps'),
  ]);
  const tracking = ['kube-apiserver-legacy-service-account-token-tracking'];
  expect(seen).toEqual(
    since([22, [[], []]], [26, [['kube-apiserver-…'], []]], [27, [['apiserver-…'], tracking]]),
  );
  const { body } = await new Client(clusters.get(27)!.url).get(
    '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?labelSelector=apiserver.kubernetes.io/identity%3Dkube-apiserver',
  );
  expect(body.items[0].spec).toMatchObject({ leaseDurationSeconds: 3600 });
});

it('refuses lists in watches while their gate is off, and pays no attention to them before 1.27', async () => {
  const query = 'watch=true&sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=1';
  const seen = await everywhere(async (client, minor) => {
    const match = minor < 27 ? '' : '&resourceVersionMatch=NotOlderThan';
    const { status, text } = await client.get(`${core}/limitranges?${query}${match}`);
    return [status, text.includes('k8s.io/initial-events-end')];
  });
  expect(seen).toEqual(
    since([22, [200, false]], [27, [422, false]], [32, [200, true]], [33, [422, false]], [34, [200, true]]),
  );
});

it('has rules of custom objects from 1.25, and looks at unchanged values alike until 1.29', async () => {
  const group = 'rules.example.com';
  const properties = { size: { type: 'integer' }, name: { type: 'string' } };
  const seen = await everywhere(async (client) => {
    await define(client, definition(group, { type: 'object', properties }), group);
    await client.post(wares(group), ware(group, 'old', { size: 9 }));
    // What is stored is wrong from then on.
    const stricter = {
      type: 'object',
      properties: { ...properties, size: { type: 'integer', maximum: 5 } },
      'x-kubernetes-validations': [{ rule: '!has(self.name) || self.name != "bad"' }],
    };
    const name = `${definitions}/wares.${group}`;
    await client.patch(name, { spec: definition(group, stricter).spec });
    // In force when a new object is refused.
    await until(
      () => client.post(`${wares(group)}?dryRun=All`, ware(group, 'new', { size: 9 })),
      ({ status }) => status === 422,
    );
    const ruled = await client.post(wares(group), ware(group, 'ruled', { name: 'bad' }));
    const unchanged = await client.patch(`${wares(group)}/old`, { spec: { name: 'x' } });
    return [ruled.status, unchanged.status];
  });
  expect(seen).toEqual(since([22, [201, 422]], [25, [422, 422]], [30, [422, 200]]));
});

it('selects custom objects by fields of their definition from 1.31', async () => {
  const group = 'fields.example.com';
  const schema = { type: 'object', properties: { color: { type: 'string' } } };
  const fields = { selectableFields: [{ jsonPath: '.spec.color' }] };
  const seen = await everywhere(async (client) => {
    await define(client, definition(group, schema, fields), group);
    return (await client.get(`${wares(group)}?fieldSelector=spec.color%3Dred`)).status;
  });
  expect(seen).toEqual(since([22, 400], [31, 200]));
});

it('tries other names than the one that is taken from 1.31', async () => {
  const seen = await everywhere(async (client) => {
    const body = { metadata: { generateName: 'g-' } };
    await client.post(`${core}/secrets`, body);
    return (await client.post(`${core}/secrets`, body)).body.message;
  });
  expect(seen[30]).toBe('secrets "g-bbbbb" already exists');
  expect(seen[31]).toContain('not able to generate a unique name');
});

it('serves reviews of oneself from 1.28, and selectors in reviews of access from 1.32', async () => {
  const seen = await everywhere(async (client) => {
    const own = await client.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      kind: 'SelfSubjectReview',
      apiVersion: 'authentication.k8s.io/v1',
    });
    const { body } = await client.post('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      kind: 'SubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      spec: {
        user: 'u',
        resourceAttributes: { verb: 'list', resource: 'pods', fieldSelector: { rawSelector: 'a=b' } },
      },
    });
    return [own.status, 'fieldSelector' in body.spec.resourceAttributes];
  });
  expect(seen).toEqual(since([22, [404, false]], [28, [201, false]], [32, [201, true]]));
});

it('has sidecars from 1.29, and policies for restarts of any container from 1.35', async () => {
  const seen = await everywhere(async (client) => {
    const init = [{ name: 'i', image: 'i', restartPolicy: 'Always' }];
    const sidecar = await client.post(pods, pod('sidecar', { initContainers: init }));
    const other = await client.post(
      pods,
      pod('other', { containers: [{ ...container, restartPolicy: 'Never' }] }),
    );
    return [sidecar.body.spec.initContainers[0].restartPolicy, other.body.message ?? other.status];
  });
  const refused =
    'Pod "other" is invalid: spec.containers[0].restartPolicy: Forbidden: may not be set for non-init containers';
  expect(seen).toEqual(since([22, [undefined, 201]], [29, ['Always', refused]], [35, ['Always', 201]]));
});

it('has fields for AppArmor from 1.30, in step with annotations, of which it warns from then on', async () => {
  const key = 'container.apparmor.security.beta.kubernetes.io/c';
  const seen = await everywhere(async (client) => {
    const noted = await client.post(pods, pod('noted', {}, { annotations: { [key]: 'unconfined' } }));
    const profile = { appArmorProfile: { type: 'RuntimeDefault' } };
    const { body } = await client.post(pods, pod('set', { securityContext: profile }));
    return [
      noted.body.spec.containers[0].securityContext?.appArmorProfile?.type,
      noted.warnings.length,
      body.spec.securityContext.appArmorProfile?.type,
      body.metadata.annotations?.[key],
    ];
  });
  expect(seen).toEqual(
    since(
      [22, [undefined, 0, undefined, undefined]],
      [30, ['Unconfined', 1, 'RuntimeDefault', 'runtime/default']],
      [34, ['Unconfined', 1, 'RuntimeDefault', undefined]],
    ),
  );
});

it('changes resources of a pod by its subresource from 1.33, and counts its changes', async () => {
  const resources = (cpu: string) => ({ containers: [{ ...container, resources: { requests: { cpu } } }] });
  const seen = await everywhere(async (client) => {
    await client.post(pods, pod('resized', resources('1')));
    const direct = await client.patch(`${pods}/resized`, { spec: resources('2') }, strategicPatch);
    const resize = await client.patch(`${pods}/resized/resize`, { spec: resources('2') }, strategicPatch);
    return [direct.status, resize.status, resize.body?.metadata?.generation];
  });
  expect(seen).toEqual(since([22, [422, 404, undefined]], [33, [422, 200, 2]]));
});

it('has ranges of service addresses, and warns of endpoints, from 1.33', async () => {
  const seen = await everywhere(async (client) => {
    const ranges = await client.get('/apis/networking.k8s.io/v1/servicecidrs');
    const { warnings } = await client.get(`${core}/endpoints`);
    return [ranges.body?.items?.map(({ metadata }: Json) => metadata.name), warnings];
  });
  const warning = '"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"';
  expect(seen).toEqual(since([22, [undefined, []]], [33, [['kubernetes'], [warning]]]));
});

it('drops volumes of images with their mounts until 1.34, and what gates dropped then', async () => {
  const sets = '/apis/apps/v1/namespaces/default/replicasets';
  const seen = await everywhere(async (client) => {
    const { body } = await client.post(
      pods,
      pod('mounted', {
        automountServiceAccountToken: false,
        volumes: [{ name: 'v', image: { reference: 'r' } }],
        containers: [{ ...container, volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
      }),
    );
    await client.post(sets, {
      metadata: { name: 's' },
      spec: { replicas: 0, selector: { matchLabels: { a: 'b' } }, template: template() },
    });
    const status = { replicas: 0, terminatingReplicas: 3 };
    const patched = await client.patch(`${sets}/s/status`, { status });
    const crd = await client.patch(`${definitions}/wares.fields.example.com/status`, {
      status: { observedGeneration: 7 },
    });
    const volumes = body.spec.volumes?.map((volume: Json) => Object.keys(volume).at(-1)) ?? [];
    return [
      volumes,
      body.spec.containers[0].volumeMounts?.length ?? 0,
      patched.body.status.terminatingReplicas,
      crd.body.status.observedGeneration,
    ];
  });
  expect(seen).toEqual(
    since(
      [22, [['emptyDir'], 1, undefined, undefined]],
      [31, [[], 0, undefined, undefined]],
      [35, [['image'], 1, 3, 7]],
    ),
  );
});

it('has the defaults and values of the minor', async () => {
  const at = (group: string, resource: string) => `/apis/${group}/namespaces/default/${resource}`;
  const seen = await everywhere(async (client) => {
    const selector = { matchLabels: { a: 'b' } };
    const ports = { hostNetwork: true, containers: [{ ...container, ports: [{ containerPort: 80 }] }] };
    const deployment = await client.post(at('apps/v1', 'deployments'), {
      metadata: { name: 'd' },
      spec: { replicas: 0, selector, template: template(ports) },
    });
    const set = await client.post(at('apps/v1', 'statefulsets'), {
      metadata: { name: 's' },
      spec: { replicas: 0, serviceName: 's', selector, template: template() },
    });
    const job = await client.post(at('batch/v1', 'jobs'), {
      metadata: { name: 'j' },
      spec: { suspend: true, template: { spec: { restartPolicy: 'Never', containers: [container] } } },
    });
    const service = await client.post(`${core}/services`, {
      metadata: { name: 's' },
      spec: { ports: [{ port: 80 }], trafficDistribution: 'PreferSameZone' },
    });
    const { spec } = job.body;
    return {
      hostPort: deployment.body.spec.template.spec.containers[0].ports[0].hostPort,
      retention: set.body.spec.persistentVolumeClaimRetentionPolicy?.whenDeleted,
      manualSelector: spec.manualSelector,
      replacement: spec.podReplacementPolicy,
      labels: Object.keys(spec.template.metadata.labels).length,
      distribution: service.body.spec?.trafficDistribution ?? service.status,
      unset: set.body.spec.template.metadata.creationTimestamp,
    };
  });
  const first: Json = { hostPort: 80, labels: 2, distribution: 201, unset: null };
  const from27 = { ...first, retention: 'Retain', labels: 4 };
  const from28 = { ...from27, hostPort: undefined };
  const from29 = { ...from28, manualSelector: false, replacement: 'TerminatingOrFailed' };
  expect(seen).toEqual(
    since(
      [22, first],
      [27, from27],
      [28, from28],
      [29, from29],
      [31, { ...from29, distribution: 422 }],
      [34, { ...from29, distribution: 'PreferSameZone', unset: undefined }],
    ),
  );
});

it('shows webhooks objects as the minor has them, also those that controllers write', async () => {
  const seen = await everywhere(async (client, minor) => {
    const path = `/pods-${minor}`;
    hooks.hooks.set(path, { allowed: true });
    const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
    const hook = {
      name: 'seen.example.com',
      clientConfig: { url: `${hooks.url}${path}`, caBundle: hooks.ca },
      rules: [rule],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      matchConditions: [{ name: 'any', expression: 'has(request.kind)' }],
    };
    const configurations = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
    const made = await client.post(configurations, { metadata: { name: 'h' }, webhooks: [hook] });
    await client.post('/apis/apps/v1/namespaces/default/replicasets', {
      metadata: { name: 'hooked' },
      spec: {
        replicas: 1,
        selector: { matchLabels: { a: 'hooked' } },
        template: { ...template(), metadata: { labels: { a: 'hooked' } } },
      },
    });
    await until(
      () => client.get(`${pods}?labelSelector=a%3Dhooked`),
      ({ body }) => body.items.length > 0,
    );
    await client.delete(`${configurations}/h`);
    const { object, kind } = hooks.calls.find((call) => call.hook === path)!.review.request;
    return [made.body.webhooks[0].matchConditions?.length ?? 0, kind.version, object.metadata.generation];
  });
  expect(seen).toEqual(since([22, [0, 'v1', undefined]], [28, [1, 'v1', undefined]], [33, [1, 'v1', 1]]));
});

it('has admission policies from 1.30, which see objects as the minor has them', async () => {
  const group = '/apis/admissionregistration.k8s.io/v1';
  const seen = await everywhere(async (client) => {
    const policy = {
      metadata: { name: 'p' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] },
          ],
        },
        validations: [
          { expression: 'object.metadata.name != "denied" || !has(object.spec.hostnameOverride)' },
        ],
      },
    };
    const { status } = await client.post(`${group}/validatingadmissionpolicies`, policy);
    await client.post(`${group}/validatingadmissionpolicybindings`, {
      metadata: { name: 'b' },
      spec: { policyName: 'p', validationActions: ['Deny'] },
    });
    const denied = await client.post(pods, pod('denied', { hostnameOverride: 'h' }));
    const mutating = await client.get(`${group}/mutatingadmissionpolicies`);
    return [status, denied.status, mutating.status];
  });
  expect(seen).toEqual(since([22, [404, 201, 404]], [30, [201, 201, 404]], [36, [201, 422, 200]]));
});

it('speaks the newer protocols of WebSockets from 1.30 and 1.31', async () => {
  const upgrade = (url: string, path: string, protocol: string) =>
    new Promise<number>((resolve, reject) => {
      const headers = {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Protocol': protocol,
      };
      request(new URL(path, url), { headers })
        .on('response', (response) => resolve(response.resume().statusCode!))
        .on('upgrade', (response, socket) => {
          socket.destroy();
          resolve(response.statusCode!);
        })
        .on('error', reject)
        .end();
    });
  const seen = await everywhere(async (client) => {
    // A node that nobody can reach: what is refused before it is asked is refused with another code.
    await client.post('/api/v1/nodes', {
      metadata: { name: 'n' },
      status: { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }] },
    });
    await client.post(pods, pod('reached', { nodeName: 'n' }));
    const ask = (path: string, protocol: string) => upgrade(client.url, `${pods}/reached/${path}`, protocol);
    return [
      (await ask('exec?command=x&stdout=true', 'v5.channel.k8s.io')) === 403,
      (await ask('exec?command=x&stdout=true', 'v5.channel.k8s.io, v4.channel.k8s.io')) === 403,
      (await ask('portforward', 'SPDY/3.1+portforward.k8s.io')) === 403,
    ];
  });
  expect(seen).toEqual(
    since([22, [true, false, true]], [30, [false, false, true]], [31, [false, false, false]]),
  );
});
