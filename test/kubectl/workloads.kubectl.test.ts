/** kubectl and the kinds of apps/v1: create, show, explain and change. Their pods do not run. */
import { expect, test } from 'vitest';
import { housekeeping } from '../support/http.ts';
import { describeWith } from '../support/tools.ts';
import { withKubectl } from './kubectl.ts';

const workload = (kind: string, name: string, spec: object = {}) => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'c', image: 'example.com/c:1' }] },
    },
    ...spec,
  },
});

describeWith('kubectl')('kubectl', () => {
  const kubectl = withKubectl({ controllers: housekeeping });
  const k = (...args: string[]) => kubectl().run(...args);
  const apply = (manifest: object) => k('apply', '-f', kubectl().file('manifest.json', manifest));

  test('create deployment, and get it in all widths', async () => {
    expect(await k('create', 'deployment', 'web', '--image=example.com/web:1', '--replicas=2')).toBe(
      'deployment.apps/web created\n',
    );
    expect(await kubectl().table('get', 'deploy')).toEqual([
      ['NAME', 'READY', 'UP-TO-DATE', 'AVAILABLE', 'AGE'],
      ['web', '0/2', '0', '0', expect.any(String)],
    ]);
    expect(await kubectl().table('get', 'deploy', 'web', '-o', 'wide', '--no-headers')).toEqual([
      ['web', '0/2', '0', '0', expect.any(String), 'web', 'example.com/web:1', 'app=web'],
    ]);
    expect(await k('describe', 'deploy', 'web')).toMatch(
      /^RollingUpdateStrategy: +25% max unavailable, 25% max surge$/m,
    );
  });

  test('set, scale, patch, rollout and edit change a deployment', async () => {
    expect(await k('set', 'image', 'deploy/web', 'web=example.com/web:2')).toBe(
      'deployment.apps/web image updated\n',
    );
    expect(await k('set', 'env', 'deploy/web', 'A=1')).toBe('deployment.apps/web env updated\n');
    expect(await k('scale', 'deploy', 'web', '--current-replicas=2', '--replicas=5')).toBe(
      'deployment.apps/web scaled\n',
    );
    expect(await k('rollout', 'pause', 'deploy/web')).toBe('deployment.apps/web paused\n');
    expect(
      await k('patch', 'deploy', 'web', '-p', '{"spec":{"strategy":{"rollingUpdate":{"maxSurge":3}}}}'),
    ).toBe('deployment.apps/web patched\n');
    const { spec } = await kubectl().json('get', 'deploy', 'web');
    expect(spec).toMatchObject({
      replicas: 5,
      paused: true,
      strategy: { rollingUpdate: { maxSurge: 3, maxUnavailable: '25%' } },
      template: { spec: { containers: [{ image: 'example.com/web:2', env: [{ name: 'A', value: '1' }] }] } },
    });
    const failed = await kubectl().try(
      'patch',
      'deploy',
      'web',
      '-p',
      '{"spec":{"selector":{"matchLabels":{"x":"y"}}}}',
    );
    expect(failed.stderr).toContain('field is immutable');
  });

  test('apply sees what is the same and what is not', async () => {
    for (const kind of ['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet']) {
      const name = kind.toLowerCase();
      const manifest = workload(kind, name);
      expect(await apply(manifest)).toBe(`${name}.apps/${name} created\n`);
      expect(await apply(manifest)).toBe(`${name}.apps/${name} unchanged\n`);
      manifest.spec.template.spec.containers[0]!.image = 'example.com/c:2';
      expect(await apply(manifest)).toBe(`${name}.apps/${name} configured\n`);
    }
    const { metadata } = await kubectl().json('get', 'ds', 'daemonset');
    expect(metadata.annotations['deprecated.daemonset.template.generation']).toBe('2');
  });

  test('tables of the others', async () => {
    const age = expect.any(String);
    expect(await kubectl().table('get', 'rs', '-o', 'wide')).toEqual([
      ['NAME', 'DESIRED', 'CURRENT', 'READY', 'AGE', 'CONTAINERS', 'IMAGES', 'SELECTOR'],
      ['replicaset', '1', '0', '0', age, 'c', 'example.com/c:2', 'app=replicaset'],
    ]);
    expect((await kubectl().table('get', 'ds'))[0]).toEqual([
      'NAME',
      ...['DESIRED', 'CURRENT', 'READY', 'UP-TO-DATE', 'AVAILABLE', 'NODE SELECTOR', 'AGE'],
    ]);
    expect(await kubectl().table('get', 'sts')).toEqual([
      ['NAME', 'READY', 'AGE'],
      ['statefulset', '0/1', age],
    ]);
    const owner = await kubectl().json('get', 'sts', 'statefulset');
    const { apiVersion, kind, metadata } = owner;
    const { name, uid } = metadata;
    await apply({
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: { name: 'first', ownerReferences: [{ apiVersion, kind, name, uid, controller: true }] },
      data: { a: 1 },
      revision: 3,
    });
    expect(await kubectl().table('get', 'controllerrevisions')).toEqual([
      ['NAME', 'CONTROLLER', 'REVISION', 'AGE'],
      ['first', 'statefulset.apps/statefulset', '3', age],
    ]);
    const all = await k('get', 'all', '-o', 'name');
    for (const one of ['deployment', 'replicaset', 'daemonset', 'statefulset'])
      expect(all).toContain(`${one}.apps/${one}\n`);
    expect(all).not.toContain('controllerrevision');
  });

  test('explain tells of every level', async () => {
    expect(await k('explain', 'deploy')).toEqual(
      kubectl().wording({
        '1.20': /^KIND: +Deployment\nVERSION: +apps\/v1$/m,
        '1.32': /^GROUP: +apps\nKIND: +Deployment\nVERSION: +v1$/m,
      }),
    );
    expect(await k('explain', 'deployment.spec.strategy.rollingUpdate.maxSurge')).toContain(
      'A quarter of all if not given.',
    );
    expect(await k('explain', 'sts.spec')).toEqual(
      kubectl().wording({
        '1.20': /selector\t<Object> -required-/,
        '1.32': /selector\t<LabelSelector> -required-/,
      }),
    );
  });

  test('what is wrong is told before it is sent, and after', async () => {
    const manifest = kubectl().file(
      'bad.json',
      workload('StatefulSet', 'bad', { selector: undefined, replicas: -1 }),
    );
    const refusal = [
      'The StatefulSet "bad" is invalid: ',
      '* spec.replicas: Invalid value: -1: must be greater than or equal to 0',
      '* spec.selector: Required value',
      '* spec.template.metadata.labels: Invalid value: {"app":"bad"}: `selector` does not match template `labels`\n',
    ].join('\n');
    // Current versions leave the validation to the server.
    expect((await kubectl().try('create', '-f', manifest)).stderr).toEqual(
      kubectl().wording({ '1.20': /missing required field "selector"/, '1.32': refusal }),
    );
    expect((await kubectl().try('create', '--validate=false', '-f', manifest)).stderr).toBe(refusal);
  });
});
