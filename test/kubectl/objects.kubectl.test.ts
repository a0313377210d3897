/** kubectl with a live server: creates, reads, changes and deletes objects of several kinds. */
import { expect, test } from 'vitest';
import { housekeeping } from '../support/http.ts';
import { describeWith } from '../support/tools.ts';
import { withKubectl } from './kubectl.ts';

const pod = (name: string, labels: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels },
  spec: { containers: [{ name: 'c', image: 'example.com/app:1' }] },
});

const controller = {
  apiVersion: 'v1',
  kind: 'ReplicationController',
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { app: 'web' },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'c', image: 'example.com/web:1', env: [{ name: 'A', value: '1' }] }] },
    },
  },
};

const ingress = {
  apiVersion: 'extensions/v1beta1',
  kind: 'Ingress',
  metadata: { name: 'site' },
  spec: { backend: { serviceName: 'web', servicePort: 80 } },
};

const job = {
  apiVersion: 'extensions/v1beta1',
  kind: 'Job',
  metadata: { name: 'once' },
  spec: {
    template: {
      metadata: { labels: { job: 'once' } },
      spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'example.com/job:1' }] },
    },
  },
};

describeWith('kubectl')('kubectl', () => {
  const kubectl = withKubectl({ controllers: housekeeping });
  const k = (...args: string[]) => kubectl().run(...args);
  const file = (name: string, manifest: object) => kubectl().file(name, manifest);

  test('create -f makes objects of every group, one or many in a file', async () => {
    expect(await k('create', '-f', file('pod.json', pod('a', { app: 'a' })))).toBe('pod/a created\n');
    expect(await k('create', '-f', file('ingress.json', ingress))).toBe('ingress.extensions/site created\n');
    expect(await k('create', '-f', file('job.json', job))).toBe('job.extensions/once created\n');
    const list = { apiVersion: 'v1', kind: 'List', items: [pod('b', { app: 'b' }), pod('c', { app: 'b' })] };
    expect(await k('create', '-f', file('list.json', list))).toBe('pod/b created\npod/c created\n');
  });

  test('create of what exists fails with AlreadyExists', async () => {
    const { code, stderr } = await kubectl().try('create', '-f', file('pod.json', pod('a')));
    expect(code).toBe(1);
    expect(stderr).toContain('Error from server (AlreadyExists)');
    expect(stderr).toContain('pods "a" already exists');
  });

  test('create of an object in a namespace that does not exist fails with NotFound', async () => {
    const { code, stderr } = await kubectl().try('-n', 'nowhere', 'create', '-f', file('pod.json', pod('a')));
    expect(code).toBe(1);
    expect(stderr).toContain('namespaces "nowhere" not found');
  });

  test('generators: namespace, secret, configmap, serviceaccount, quota, service', async () => {
    expect(await k('create', 'namespace', 'made')).toBe('namespace/made created\n');
    expect(await k('-n', 'made', 'create', 'secret', 'generic', 's', '--from-literal=k=v')).toBe(
      'secret/s created\n',
    );
    expect(await k('-n', 'made', 'create', 'configmap', 'c', '--from-literal=k=v')).toBe(
      'configmap/c created\n',
    );
    expect(await k('-n', 'made', 'create', 'serviceaccount', 'robot')).toBe('serviceaccount/robot created\n');
    expect(await k('-n', 'made', 'create', 'quota', 'q', '--hard=pods=10')).toBe('resourcequota/q created\n');
    expect(await k('-n', 'made', 'create', 'service', 'clusterip', 'svc', '--tcp=80:8080')).toBe(
      'service/svc created\n',
    );
    const secret = await kubectl().json('-n', 'made', 'get', 'secret', 's');
    expect(Buffer.from(secret.data.k, 'base64').toString()).toBe('v');
  });

  test('get shows one, many, all namespaces, and by selector', async () => {
    expect(await k('get', 'pod', 'a', '-o', 'name')).toBe('pod/a\n');
    expect(await k('get', 'pods', '-o', 'name')).toBe('pod/a\npod/b\npod/c\n');
    expect(await k('get', 'pods', '-l', 'app=b', '-o', 'name')).toBe('pod/b\npod/c\n');
    expect(await k('get', 'pods', '-l', 'app notin (b)', '-o', 'name')).toBe('pod/a\n');
    expect(await k('get', 'pods', '--field-selector', 'metadata.name=b', '-o', 'name')).toBe('pod/b\n');
    expect(await k('get', 'configmaps', '-A', '-o', 'name')).toContain('configmap/c\n');
    const [heading, ...rows] = await kubectl().table('get', 'configmaps', '-A');
    expect(heading![0]).toBe('NAMESPACE');
    expect(rows.map((row) => row.slice(0, 2))).toContainEqual(['made', 'c']);
    expect(await k('get', 'po,ing', '-o', 'name')).toBe(
      'pod/a\npod/b\npod/c\ningress.networking.k8s.io/site\n',
    );
    const none = await kubectl().try('get', 'podtemplates', '-n', 'made');
    expect(none.stderr).toBe('No resources found in made namespace.\n');
  });

  test('get -o yaml, json, jsonpath and custom columns read what is stored', async () => {
    const yaml = await k('get', 'pod', 'a', '-o', 'yaml');
    expect(yaml).toMatch(/^apiVersion: v1\nkind: Pod\nmetadata:\n/);
    expect(yaml).toContain('image: example.com/app:1\n');
    expect((await kubectl().json('get', 'pod', 'a')).metadata.labels).toEqual({ app: 'a' });
    expect(await k('get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}')).toBe('a b c');
    expect(await k('get', 'pods', '--no-headers', '-o', 'custom-columns=N:.metadata.name')).toBe('a\nb\nc\n');
  });

  test('get of what is not there fails with NotFound', async () => {
    const { code, stderr } = await kubectl().try('get', 'pod', 'nope');
    expect(code).toBe(1);
    expect(stderr).toBe('Error from server (NotFound): pods "nope" not found\n');
  });

  test('get -w shows what is there, then every change', async () => {
    const watching = kubectl().follow(
      'get',
      'pods',
      '-w',
      '--no-headers',
      '-o',
      'custom-columns=N:.metadata.name,L:.metadata.labels.seen',
    );
    await watching.until(/^c +<none>$/m);
    await k('label', 'pod', 'a', 'seen=yes');
    await watching.until(/^a +yes$/m);
    await k('create', '-f', file('pod.json', pod('watched')));
    await watching.until(/^watched +<none>$/m);
    await k('delete', 'pod', 'watched');
    await watching.until(/^watched +<none>$[\s\S]*^watched +<none>$/m);
    await watching.stop();
  });

  test('apply creates, changes and leaves alone', async () => {
    expect(await k('apply', '-f', file('rc.json', controller))).toBe('replicationcontroller/web created\n');
    expect(await k('apply', '-f', file('rc.json', controller))).toBe('replicationcontroller/web unchanged\n');
    const changed = structuredClone(controller) as any;
    changed.spec.replicas = 3;
    changed.spec.template.spec.containers[0].env.push({ name: 'B', value: '2' });
    changed.spec.template.spec.containers.push({ name: 'side', image: 'example.com/side:1' });
    expect(await k('apply', '-f', file('rc.json', changed))).toBe('replicationcontroller/web configured\n');
    const stored = await kubectl().json('get', 'rc', 'web');
    expect(stored.spec.replicas).toBe(3);
    expect(stored.spec.template.spec.containers.map((container: any) => container.name)).toEqual([
      'c',
      'side',
    ]);
    expect(stored.spec.template.spec.containers[0].env).toEqual([
      { name: 'A', value: '1' },
      { name: 'B', value: '2' },
    ]);
    expect(await k('apply', '-f', file('rc.json', controller))).toBe(
      'replicationcontroller/web configured\n',
    );
    const restored = await kubectl().json('get', 'rc', 'web');
    expect(restored.spec.template.spec.containers.map((container: any) => container.name)).toEqual(['c']);
    expect(restored.spec.template.spec.containers[0].env).toEqual([{ name: 'A', value: '1' }]);
  });

  test('replace changes, and replace --force makes anew', async () => {
    const before = await kubectl().json('get', 'pod', 'b');
    before.metadata.labels.app = 'replaced';
    expect(await k('replace', '-f', file('b.json', before))).toBe('pod/b replaced\n');
    expect((await kubectl().json('get', 'pod', 'b')).metadata.labels.app).toBe('replaced');
    const stale = await kubectl().try('replace', '-f', file('b.json', before));
    expect(stale.stderr).toContain(
      'the object has been modified; please apply your changes to the latest version',
    );
    expect(await k('replace', '--force', '-f', file('b2.json', pod('b', { app: 'b' })))).toContain(
      'pod/b replaced\n',
    );
    expect((await kubectl().json('get', 'pod', 'b')).metadata.uid).not.toBe(before.metadata.uid);
  });

  test('patch works in all three languages', async () => {
    expect(
      await k(
        'patch',
        'rc',
        'web',
        '-p',
        '{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"x:2"}]}}}}',
      ),
    ).toContain('patched');
    const strategic = await kubectl().json('get', 'rc', 'web');
    expect(strategic.spec.template.spec.containers[0]).toMatchObject({
      image: 'x:2',
      env: [{ name: 'A', value: '1' }],
    });
    expect(
      await k('patch', 'rc', 'web', '--type=merge', '-p', '{"metadata":{"labels":{"m":"1"}}}'),
    ).toContain('patched');
    expect(
      await k(
        'patch',
        'rc',
        'web',
        '--type=json',
        '-p',
        '[{"op":"replace","path":"/spec/replicas","value":4}]',
      ),
    ).toContain('patched');
    const stored = await kubectl().json('get', 'rc', 'web');
    expect(stored.metadata.labels.m).toBe('1');
    expect(stored.spec.replicas).toBe(4);
    expect(
      await k('patch', 'rc', 'web', '--type=merge', '-p', '{"metadata":{"labels":{"m":"1"}}}'),
    ).toContain('patched (no change)');
    const failed = await kubectl().try(
      'patch',
      'rc',
      'web',
      '--type=json',
      '-p',
      '[{"op":"test","path":"/spec/replicas","value":9}]',
    );
    expect(failed.code).toBe(1);
  });

  test('label and annotate set and remove', async () => {
    expect(await k('label', 'pod', 'a', 'tier=front')).toBe('pod/a labeled\n');
    expect(await k('annotate', 'pod', 'a', 'note=hello world')).toBe('pod/a annotated\n');
    expect((await kubectl().json('get', 'pod', 'a')).metadata).toMatchObject({
      labels: { tier: 'front' },
      annotations: { note: 'hello world' },
    });
    expect(await k('label', 'pod', 'a', 'tier-')).toEqual(
      kubectl().wording({ '1.20': 'pod/a labeled\n', '1.32': 'pod/a unlabeled\n' }),
    );
    expect((await kubectl().json('get', 'pod', 'a')).metadata.labels.tier).toBeUndefined();
    expect(await k('label', 'pods', '--all', 'every=one')).toContain('pod/c labeled');
    expect((await kubectl().try('label', 'pod', 'a', 'every=two')).stderr).toContain('already has a value');
  });

  test('scale changes the replicas, with and without a condition', async () => {
    expect(await k('scale', 'rc', 'web', '--replicas=7')).toBe('replicationcontroller/web scaled\n');
    expect((await kubectl().json('get', 'rc', 'web')).spec.replicas).toBe(7);
    expect(await k('scale', 'rc', 'web', '--current-replicas=7', '--replicas=0')).toBe(
      'replicationcontroller/web scaled\n',
    );
    expect((await kubectl().json('get', 'rc', 'web')).spec.replicas).toBe(0);
    expect((await kubectl().try('scale', 'rc', 'web', '--current-replicas=7', '--replicas=1')).code).toBe(1);
  });

  test('--dry-run=client and edit-like round trips leave nothing behind', async () => {
    expect(await k('run', 'dry', '--image=x', '--dry-run=client')).toBe('pod/dry created (dry run)\n');
    expect((await kubectl().try('get', 'pod', 'dry')).code).toBe(1);
  });

  test('delete by name, by file, by selector, all, with waiting, and what is not there', async () => {
    expect(await k('delete', 'ingress', 'site')).toBe('ingress.networking.k8s.io "site" deleted\n');
    expect(await k('delete', '-f', file('job.json', job))).toBe('job.extensions "once" deleted\n');
    expect(await k('delete', 'pods', '-l', 'app=b')).toContain('pod "b" deleted');
    expect(await k('get', 'pods', '-o', 'name')).toBe('pod/a\n');
    expect(await k('delete', 'pods', '--all', '--force', '--grace-period=0')).toContain(
      'pod "a" force deleted',
    );
    expect(await k('delete', 'rc', 'web', '--cascade=orphan')).toBe('replicationcontroller "web" deleted\n');
    expect((await kubectl().try('delete', 'pod', 'a')).stderr).toBe(
      'Error from server (NotFound): pods "a" not found\n',
    );
    expect(await k('delete', 'pod', 'a', '--ignore-not-found')).toBe('');
  });

  test('a deleted namespace takes what is in it along', async () => {
    expect(await k('delete', 'namespace', 'made')).toBe('namespace "made" deleted\n');
    expect(await k('get', 'secrets', '-A', '-o', 'name')).not.toContain('secret/s\n');
    const { stderr } = await kubectl().try('delete', 'namespace', 'default');
    expect(stderr).toContain('namespaces "default" is forbidden: this namespace may not be deleted');
  });

  test('api-resources, api-versions, version, cluster-info and get --raw', async () => {
    const resources = await k('api-resources');
    expect(resources).toMatch(/^pods +po +v1 +true +Pod$/m);
    expect(resources).toMatch(/^ingresses +extensions\/v1beta1 +true +Ingress$/m);
    expect(resources).toMatch(/^nodes +no +v1 +false +Node$/m);
    expect((await k('api-versions')).split('\n')).toEqual(
      expect.arrayContaining(['extensions/v1beta1', 'networking.k8s.io/v1', 'v1']),
    );
    expect(await k('version')).toEqual(
      kubectl().wording({
        '1.20': /^Server Version: version\.Info\{Major:"1"/m,
        '1.32': /^Server Version: v1\./m,
      }),
    );
    expect((await kubectl().json('version')).serverVersion).toMatchObject({ major: '1' });
    expect(await k('cluster-info')).toContain('is running at');
    expect(await k('get', '--raw', '/healthz')).toBe('ok');
    expect((await kubectl().try('get', 'componentstatuses')).stdout).toContain('etcd-0');
  });
});
