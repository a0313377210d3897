/** kubectl and `/openapi/v2`: explain, client-side validation, and detection of dry-run support. */
import { expect, test } from 'vitest';
import { clusterKinds, extensionsKinds, namespacedKinds } from '../contract/kinds.ts';
import { isOlderKubectl } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';
import { withKubectl } from './kubectl.ts';

const pod = (container: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a' },
  spec: { containers: [{ name: 'c', image: 'example.com/app:1', ...container }] },
});

const controller = (replicas: number, env: object[]) => ({
  apiVersion: 'v1',
  kind: 'ReplicationController',
  metadata: { name: 'web' },
  spec: {
    replicas,
    selector: { app: 'web' },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'c', image: 'example.com/web:1', env }] },
    },
  },
});

/** Text without kubectl's line breaks. */
const joined = (text: string): string => text.replace(/\s+/g, ' ');

const ofNewest = test.skipIf(isOlderKubectl /* What others do with this version speaks the same protocol. */);

describeWith('kubectl')('kubectl', () => {
  const kubectl = withKubectl();
  const k = (...args: string[]) => kubectl().run(...args);
  const file = (name: string, manifest: object) => kubectl().file(name, manifest);

  test('explain tells what a kind is and which fields it has', async () => {
    const text = await k('explain', 'pods');
    expect(text).toMatch(/^KIND: +Pod\nVERSION: +v1\n/);
    expect(joined(text)).toContain('DESCRIPTION: Containers that run together on one node');
    expect(text).toEqual(
      kubectl().wording({
        '1.20': /^ {3}spec\t<Object>\n {5}How the pod is to run\.$/m,
        '1.32': /^ {2}spec\t<PodSpec>\n {4}How the pod is to run\.$/m,
      }),
    );
  });

  test('explain goes down to a field, through lists and references', async () => {
    const text = await k('explain', 'pod.spec.containers');
    expect(text).toEqual(
      kubectl().wording({
        '1.20': /RESOURCE: containers <\[\]Object>/,
        '1.32': /FIELD: containers <\[\]Container>/,
      }),
    );
    expect(text).toMatch(/^ +name\t<string> -required-$/m);
    expect(text).toEqual(
      kubectl().wording({
        '1.20': /^ {3}resources\t<Object>$/m,
        '1.32': /^ {2}resources\t<ResourceRequirements>$/m,
      }),
    );
    expect(joined(text)).toContain('One of: Always, IfNotPresent, Never.');
    const claim = await k('explain', 'rc.spec.template.spec.volumes.persistentVolumeClaim.claimName');
    expect(claim).toMatch(/^FIELD: +claimName <string>$/m);
    expect(claim).toContain('Name of the PersistentVolumeClaim.');
    expect(await k('explain', 'svc.spec.ports.targetPort')).toEqual(
      kubectl().wording({ '1.20': /targetPort <string>/, '1.32': /targetPort <IntOrString>/ }),
    );
    expect(await k('explain', 'pod.metadata.labels')).toContain('labels <map[string]string>');
    expect(await k('explain', 'ingress.spec', '--api-version=extensions/v1beta1')).toEqual(
      kubectl().wording({
        '1.20': /^VERSION: {2}extensions\/v1beta1$/m,
        '1.32': /^GROUP: +extensions\nKIND: +Ingress\nVERSION: +v1beta1$/m,
      }),
    );
  });

  test('explain --recursive goes through the schemas of definitions, which hold themselves', async () => {
    const text = await k('explain', 'crd', '--recursive');
    expect(text).toMatch(/^KIND: +CustomResourceDefinition$/m);
    // Parts of a schema that are another schema, or a list of texts, or true.
    for (const field of ['additionalItems', 'dependencies', 'enum', 'items'])
      expect(text).toMatch(new RegExp(`^ +${field}\t<`, 'm'));
    expect(text).toEqual(
      kubectl().wording({
        '1.20': /additionalItems\t<>/,
        '1.32': /^ +additionalItems\t<JSONSchemaPropsOrBool>$/m,
      }),
    );
  });

  test('get shows none for what exempt priority levels do not have', async () => {
    const level = {
      apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
      kind: 'PriorityLevelConfiguration',
      metadata: { name: 'exempt' },
      spec: { type: 'Exempt', exempt: { lendablePercent: 0, nominalConcurrencyShares: 0 } },
    };
    await k('create', '-f', file('exempt.json', level));
    expect(await k('get', 'prioritylevelconfigurations', 'exempt')).toMatch(
      /^NAME +TYPE +NOMINALCONCURRENCYSHARES +QUEUES +HANDSIZE +QUEUELENGTHLIMIT +AGE\nexempt +Exempt +<none> +<none> +<none> +<none> /,
    );
  });

  ofNewest('explain --recursive shows the whole tree', async () => {
    const text = await k('explain', 'pod', '--recursive');
    for (const [old, current] of [
      [/^ {3}spec\t<Object>$/m, /^ {2}spec\t<PodSpec>$/m],
      [/^ {9}livenessProbe\t<Object>$/m, /^ {6}livenessProbe\t<Probe>$/m],
      [/^ {15}port\t<string>$/m, /^ {10}port\t<IntOrString> -required-$/m],
      [/^ {9}fieldsV1\t</m, /^ {6}fieldsV1\t<FieldsV1>$/m],
    ] as const)
      expect(text).toEqual(kubectl().wording({ '1.20': old, '1.32': current }));
    expect(text.split('\n').length).toBeGreaterThan(500);
  });

  ofNewest('explain refuses what is not there', async () => {
    const field = await kubectl().try('explain', 'pod.spec.nope');
    expect(field).toMatchObject({ code: 1, stderr: 'error: field "nope" does not exist\n' });
    expect((await kubectl().try('explain', 'widgets')).code).toBe(1);
  });

  test('manifests with unknown, missing and wrong fields are refused, by old versions before they are sent', async () => {
    const unknown = await kubectl().try('create', '-f', file('unknown.json', pod({ imagee: 'x' })));
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toEqual(
      kubectl().wording({
        '1.20':
          /ValidationError\(Pod\.spec\.containers\[0\]\): unknown field "imagee" in io\.k8s\.api\.core\.v1\.Container/,
        '1.32': /\(BadRequest\): .*: strict decoding error: unknown field "spec\.containers\[0\]\.imagee"\n$/,
      }),
    );
    const wrong = await kubectl().try(
      'apply',
      '-f',
      file('wrong.json', pod({ name: undefined, ports: 'none' })),
    );
    expect(wrong.code).toBe(1);
    for (const words of [
      /missing required field "name" in io\.k8s\.api\.core\.v1\.Container/,
      /Container\.ports: got "string", expected "array"/,
    ])
      expect(wrong.stderr).toEqual(kubectl().wording({ '1.20': words, '1.32': /\(BadRequest\)/ }));
    expect((await kubectl().try('get', 'pod', 'a')).stderr).toContain('NotFound');
    expect(await k('create', '--validate=false', '-f', file('unknown.json', pod({ imagee: 'x' })))).toBe(
      'pod/a created\n',
    );
  });

  test('every sample of the contract is accepted, and a dry run keeps none of them', async () => {
    const kinds = [...namespacedKinds, ...clusterKinds, ...extensionsKinds];
    const items = kinds.map(({ apiVersion, kind, namespaced, sample }) => ({
      apiVersion,
      kind,
      ...sample.manifest(namespaced ? 'default' : '', 'sample'),
    }));
    const list = file('samples.json', { apiVersion: 'v1', kind: 'List', items });
    const lines = (await k('create', '--dry-run=server', '-f', list)).trimEnd().split('\n');
    expect(lines).toHaveLength(kinds.length);
    for (const line of lines) expect(line).toMatch(/\/sample created \(server dry run\)$/);
    expect(await k('get', 'nodes,secrets,services', '-l', 'contract=sample', '-o', 'name')).toBe('');
  });

  ofNewest('apply makes, leaves alone and changes, with the server looking on first', async () => {
    const first = file('rc.json', controller(2, [{ name: 'A', value: '1' }]));
    expect(await k('apply', '--dry-run=server', '-f', first)).toBe(
      'replicationcontroller/web created (server dry run)\n',
    );
    expect((await kubectl().try('get', 'rc', 'web')).code).toBe(1);
    expect(await k('apply', '-f', first)).toBe('replicationcontroller/web created\n');
    expect(await k('apply', '-f', first)).toBe('replicationcontroller/web unchanged\n');
    const second = file('rc2.json', controller(3, [{ name: 'B', value: '2' }]));
    expect(await k('apply', '--dry-run=server', '-f', second)).toBe(
      'replicationcontroller/web configured (server dry run)\n',
    );
    expect((await kubectl().json('get', 'rc', 'web')).spec.replicas).toBe(2);
    // Another writer's list entry stays, because the list is merged by name.
    await k('set', 'env', 'rc/web', 'C=3');
    expect(await k('apply', '-f', second)).toBe('replicationcontroller/web configured\n');
    const { spec } = await kubectl().json('get', 'rc', 'web');
    expect(spec.replicas).toBe(3);
    expect(spec.template.spec.containers[0].env).toEqual(
      expect.arrayContaining([
        { name: 'B', value: '2' },
        { name: 'C', value: '3' },
      ]),
    );
    expect(spec.template.spec.containers[0].env).toHaveLength(2);
  });

  ofNewest('diff ends with 1 and shows what would change, and with 0 when nothing would', async () => {
    const settings = (a: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'settings' },
      data: { a },
    });
    await k('apply', '-f', file('settings.json', settings('one')));
    const same = await kubectl().try('diff', '-f', file('settings.json', settings('one')));
    expect(same).toMatchObject({ code: 0, stdout: '' });
    const changed = await kubectl().try('diff', '-f', file('settings2.json', settings('two')));
    expect(changed.code).toBe(1);
    expect(changed.stdout).toMatch(/^-\s+a: one$/m);
    expect(changed.stdout).toMatch(/^\+\s+a: two$/m);
    expect((await kubectl().json('get', 'configmap', 'settings')).data).toEqual({ a: 'one' });
    const created = await kubectl().try(
      'diff',
      '-f',
      file('new.json', { ...settings('x'), metadata: { name: 'b' } }),
    );
    expect(created.code).toBe(1);
    expect((await kubectl().try('get', 'configmap', 'b')).code).toBe(1);
  });
});
